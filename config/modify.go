package config

import (
	"context"
	"errors"

	"github.com/zkcoord/zkcoord/coord"
)

// Modify changes the value at path: it reads what is stored, calls change with it,
// and stores what that returns if nobody has stored anything else in the meantime;
// else it does so again, with what is there then. If nothing is stored, change is
// given the zero T, and what it returns is created, with what is missing above it.
// Modify returns what it has stored.
//
// Nobody else has stored anything if the version is the same. A znode that was
// deleted and made anew since it was read, and has come to the same version, can
// not be told from what was read.
//
// The change is carried out once or not at all, however many answers are lost.
// With each change Modify writes to a znode of the client, below /_zkcoord, whose
// version tells what became of it, in a later session too; so a change costs one
// read and one write, and the first few of a session some more. A client that may
// not have such a znode goes without.
//
// An error is an [*coord.Error], and means that nothing was stored, unless it is
// [ErrUnknown]: the ensemble's refusal, the error of change, that of decode for a
// value that is malformed, that of encode, [coord.ErrClosed] or, when ctx ends
// first, its cause. ErrUnknown comes, beside the reason, if ctx ends or c is closed
// while an answer is due; or if the session is over before there was one, and there
// is nothing left to tell by when the next one begins, such as a minute later.
//
// change may be called any number of times, on the caller's goroutine, and should
// do nothing but compute. A panic of it passes through, and nothing is stored; one
// of decode or encode is an error. What encode returns may have [coord.MaxData]
// bytes.
//
// A znode that is a container, as package lock makes them for directories, or
// ephemeral, stays so, and its value goes with it.
func Modify[T any](ctx context.Context, c *coord.Client, path string, decode func([]byte) (T, error), encode func(T) ([]byte, error), change func(T) (T, error)) (T, error) {
	var none T
	fail := func(err error) (T, error) { return none, &coord.Error{Op: "modify", Path: path, Err: err} }
	if err := coord.CheckPath(path); err != nil {
		return fail(err)
	}
	switch {
	case decode == nil:
		return fail(errNil("decode"))
	case encode == nil:
		return fail(errNil("encode"))
	case change == nil:
		return fail(errNil("change"))
	}
	full := c.FullPath(path)
	var pause backoff
	for sync := false; ; sync = true {
		s, err := c.Await(ctx)
		if err != nil {
			return fail(err)
		}
		n, err := fetch(ctx, s, full, sync)
		switch {
		case err == errAgain:
			continue
		case err != nil:
			return fail(err)
		case n.stat != nil && n.stat.Version == -1:
			return fail(errVersion)
		}
		next, data, err := changed(path, n, decode, encode, change)
		switch {
		case err != nil && !sync:
			continue // what it objects to may have been changed already
		case err != nil:
			return none, err
		}
		w := write{path: full, data: data, was: n.stat}
		if n.stat != nil {
			w.version = n.stat.Version
		}
		switch err := commit(ctx, c, s, []write{w}); err {
		case nil:
			return next, nil
		case errAgain:
			pause.wait(ctx, s)
		default:
			return fail(err)
		}
	}
}

// errVersion is why a znode can not be changed on condition of its version.
var errVersion = errors.New("config: the znode has been changed four billion times, and its version is -1, " +
	"which would mean any; delete it and create it anew")

// changed returns what change makes of n, and what is to be stored for that. Its
// error names path.
func changed[T any](path string, n znode, decode func([]byte) (T, error), encode func(T) ([]byte, error), change func(T) (T, error)) (next T, data []byte, err error) {
	var old T
	if n.data != nil {
		if old, err = decoded(path, decode, n.data); err != nil {
			return next, nil, err
		}
	}
	if next, err = change(old); err != nil {
		return next, nil, &coord.Error{Op: "modify", Path: path, Err: err}
	}
	data, err = encoded(path, encode, next)
	return next, data, err
}

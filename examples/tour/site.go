package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

// A site is the place in the ensemble where a tour happens, and the client that
// makes it and clears it away.
type site struct {
	client  *coord.Client
	chroot  string        // of the contenders: a directory of this tour alone
	found   string        // the directory above chroot that was there before
	timeout time.Duration // of a session, as granted
}

// build makes a directory with a random name below root, and the report in it.
func (t *tour) build(ctx context.Context) (_ *site, err error) {
	granted := make(chan time.Duration, 1) // for the first session, which Dial waits for
	trace := &coord.Trace{Connected: func(_ context.Context, i coord.SessionInfo) {
		select {
		case granted <- i.Timeout:
		default:
		}
	}}
	dialing, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("no answer in 10 s"))
	defer cancel()
	client, err := coord.Dial(dialing, t.servers, &coord.Options{SessionTimeout: sessionTimeout, Dial: t.dial, Trace: trace})
	if err != nil {
		return nil, err
	}
	s := &site{client: client, chroot: path.Join(t.root, rand.Text()[:8]), timeout: <-granted}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.clear(ctx))
		}
	}()
	missing := []string{s.chroot}
	for s.found = path.Dir(s.chroot); ; s.found = path.Dir(s.found) {
		_, there, err := client.Exists(ctx, s.found)
		if err != nil {
			return nil, err
		}
		if there {
			break
		}
		missing = append(missing, s.found)
	}
	for _, dir := range slices.Backward(missing) {
		if _, err := client.Create(ctx, dir, nil, coord.Container); err != nil && !errors.Is(err, coord.ErrNodeExists) {
			return nil, err
		}
	}
	_, err = client.Create(ctx, s.chroot+report, nil, coord.Persistent)
	return s, err
}

// read returns what the report says.
func (s *site) read(ctx context.Context) (string, error) {
	data, _, err := s.client.Get(ctx, s.chroot+report)
	return string(data), err
}

// clear deletes all that the tour has made, even if ctx has ended.
func (s *site) clear(ctx context.Context) error {
	defer s.client.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.remove(ctx, s.chroot); err != nil {
		return fmt.Errorf("%s is left behind: %w", s.chroot, err)
	}
	for dir := path.Dir(s.chroot); dir != s.found; dir = path.Dir(dir) {
		if s.delete(ctx, dir) != nil {
			break // somebody else uses it too, such as another tour
		}
	}
	return nil
}

// remove deletes node and all below it.
func (s *site) remove(ctx context.Context, node string) error {
	children, _, err := s.client.Children(ctx, node)
	if err != nil && !errors.Is(err, coord.ErrNoNode) {
		return err
	}
	for _, name := range children {
		if err := s.remove(ctx, path.Join(node, name)); err != nil {
			return err
		}
	}
	return s.delete(ctx, node)
}

// delete deletes node, unless it is gone already.
func (s *site) delete(ctx context.Context, node string) error {
	for {
		err := s.client.Delete(ctx, node, -1)
		switch {
		case errors.Is(err, coord.ErrNoNode):
			return nil
		case errors.Is(err, coord.ErrUnknown) && ctx.Err() == nil:
			continue // to delete it twice does no harm
		}
		return err
	}
}

package config

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// A node is what there is at a path.
type node struct {
	Data   []byte // nil: no value, as in a directory
	Stat   zk.Stat
	Exists bool
}

// A lookFunc asks in session s what there is at the full path.
type lookFunc func(ctx context.Context, s *coord.Session, path string) (node, error)

func get(ctx context.Context, s *coord.Session, path string) (node, error) {
	n, err := coord.Retry(ctx, s, func(conn *zk.Conn) (node, error) {
		data, stat, err := conn.Get(path)
		if err != nil {
			return node{}, err
		}
		return node{data, *stat, true}, nil
	})
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return n, err
}

// exists is get without the data.
func exists(ctx context.Context, s *coord.Session, path string) (node, error) {
	return coord.Retry(ctx, s, func(conn *zk.Conn) (node, error) {
		there, stat, err := conn.Exists(path)
		if err != nil || !there {
			return node{}, err
		}
		return node{nil, *stat, true}, nil
	})
}

// synced returns look with an answer no older than the call, unless it comes from a
// leader that is cut off from the others. All of it is done in one session: the
// server of the next one need not have caught up.
func synced(look lookFunc) lookFunc {
	return func(ctx context.Context, s *coord.Session, path string) (node, error) {
		if err := catchUp(ctx, s, path); err != nil {
			return node{}, err
		}
		return look(ctx, s, path)
	}
}

// catchUp makes the server of s catch up with the leader.
func catchUp(ctx context.Context, s *coord.Session, path string) error {
	_, err := coord.Retry(ctx, s, func(conn *zk.Conn) (string, error) { return conn.Sync(path) })
	return err
}

func create(ctx context.Context, c *coord.Client, s *coord.Session, path string, data []byte, flags int32) error {
	_, err := coord.Retry(ctx, s, func(conn *zk.Conn) (string, error) { return conn.Create(path, data, flags, c.ACL()) })
	return err
}

func set(ctx context.Context, s *coord.Session, path string, data []byte, version int32) (*zk.Stat, error) {
	return coord.Retry(ctx, s, func(conn *zk.Conn) (*zk.Stat, error) { return conn.Set(path, data, version) })
}

// multi makes a transaction of ops, once. If the error is a refusal of one of them,
// the results say of which. If it is ErrUnknown the transaction was sent and not
// answered; if it is neither, it was not sent and will not be.
func multi(ctx context.Context, s *coord.Session, ops []any) ([]zk.MultiResponse, error) {
	type answer struct {
		res []zk.MultiResponse
		err error
	}
	answers := make(chan answer, 1) // so that the request's goroutine ends though nobody waits
	var taken atomic.Bool           // by whoever is first: the request, which is then made, or we, who leave
	_, err := coord.Call(ctx, s, func(conn *zk.Conn) (struct{}, error) {
		if taken.Swap(true) {
			return struct{}{}, errStale
		}
		res, err := coord.Transact(conn, ops...)
		answers <- answer{res, err}
		return struct{}{}, err
	})
	sent := taken.Swap(true)
	select {
	case a := <-answers: // it counts, though ctx or s may have ended meanwhile
		if a.err == nil || coord.Refused(a.err) {
			return a.res, a.err
		}
		err = a.err
	default:
	}
	if sent {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return nil, err
}

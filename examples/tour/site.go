package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

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
	for s.found = s.chroot; s.found != "/"; {
		s.found = path.Dir(s.found)
		there, err := coord.Read(ctx, client, func(conn *zk.Conn) (bool, error) {
			there, _, err := conn.Exists(s.found)
			return there, err
		})
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", s.found, err)
		}
		if there {
			break
		}
	}
	session := client.Session()
	if err := session.MakeDir(ctx, s.chroot); err != nil {
		return nil, err
	}
	_, err = coord.Call(ctx, session, func(conn *zk.Conn) (string, error) {
		return conn.Create(s.chroot+report, nil, 0, zk.WorldACL(zk.PermAll))
	})
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", s.chroot+report, err)
	}
	return s, nil
}

// read returns what the report says.
func (s *site) read(ctx context.Context) (string, error) {
	data, err := coord.Read(ctx, s.client, func(conn *zk.Conn) ([]byte, error) {
		data, _, err := conn.Get(s.chroot + report)
		return data, err
	})
	return string(data), err
}

// clear deletes all that the tour has made, also if ctx has ended.
func (s *site) clear(ctx context.Context) error {
	defer s.client.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.remove(ctx, s.chroot); err != nil {
		return fmt.Errorf("%s is left behind: %w", s.chroot, err)
	}
	for dir := path.Dir(s.chroot); dir != s.found; dir = path.Dir(dir) {
		if s.delete(ctx, dir) != nil {
			break // somebody else uses it too, perhaps another tour
		}
	}
	return nil
}

// remove deletes node and all below it.
func (s *site) remove(ctx context.Context, node string) error {
	children, err := coord.Read(ctx, s.client, func(conn *zk.Conn) ([]string, error) {
		children, _, err := conn.Children(node)
		return children, err
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
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
	_, err := coord.Read(ctx, s.client, func(conn *zk.Conn) (struct{}, error) {
		return struct{}{}, conn.Delete(node, -1)
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

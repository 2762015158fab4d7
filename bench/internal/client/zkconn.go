package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

var acl = zk.WorldACL(zk.PermAll)

// conn is a session of go-zookeeper, with what all of its users need.
type conn struct{ *zk.Conn }

type silent struct{}

func (silent) Printf(string, ...any) {}

// dialZK opens a session and waits until it is established.
func dialZK(addr string, timeout time.Duration, m *meter) (conn, error) {
	dialer := func(network, addr string, timeout time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		return m.dial(ctx, network, addr)
	}
	c, events, err := zk.Connect([]string{addr}, timeout, zk.WithLogInfo(false), zk.WithLogger(silent{}), zk.WithDialer(dialer))
	if err != nil {
		return conn{}, err
	}
	deadline := time.After(patience)
	for {
		select {
		case e := <-events:
			if e.State != zk.StateHasSession {
				continue
			}
			go func() {
				for range events {
				}
			}()
			return conn{c}, nil
		case <-deadline:
			c.Close()
			return conn{}, fmt.Errorf("no session with %s", addr)
		}
	}
}

func (c conn) close() { c.Close() }

func (c conn) contenders(path string) (int, error) {
	_, stat, err := c.Exists(path)
	if err != nil || stat == nil {
		return 0, err
	}
	return int(stat.NumChildren), nil
}

func (c conn) put(path string, data []byte) error {
	_, err := c.Set(path, data, -1)
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	if err := c.directory(path[:strings.LastIndex(path, "/")]); err != nil {
		return err
	}
	_, err = c.Create(path, data, 0, acl)
	return err
}

// directory creates path, and what is missing above it.
func (c conn) directory(path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if _, err := c.Create(path[:i], nil, 0, acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// plain opens a session of go-zookeeper, whatever the peer.
func (p *process) plain() conn {
	c, err := dialZK(p.Addr, p.Timeout, nil)
	check(err)
	return c
}

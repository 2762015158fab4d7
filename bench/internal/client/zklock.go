package client

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// A zkLocker has go-zookeeper's own Lock.
type zkLocker struct {
	conn
	turns
}

func dialZKLock(addr string, timeout time.Duration, m *meter) (session, error) {
	c, err := dialZK(addr, timeout, m)
	return &zkLocker{conn: c}, err
}

type zkLock struct{ *zk.Lock }

func (l zkLock) lock() error   { return l.Lock.Lock() }
func (l zkLock) unlock() error { return l.Unlock() }

func (s *zkLocker) mutex(path string) locker { return zkLock{zk.NewLock(s.Conn, path, acl)} }

func (s *zkLocker) enter(path string) { s.take(s.mutex(path)) }

package client

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
	"go.uber.org/zap"
)

// An etcdSession is etcd's client with a lease.
type etcdSession struct {
	c *clientv3.Client
	s *concurrency.Session
}

func dialEtcd(addr string, timeout time.Duration, _ *meter) (session, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	s, err := concurrency.NewSession(c, concurrency.WithTTL(max(int(timeout/time.Second), 1)))
	return etcdSession{c, s}, err
}

func (s etcdSession) close() {
	_ = s.s.Close()
	_ = s.c.Close()
}

func (s etcdSession) contenders(path string) (int, error) {
	r, err := s.c.Get(bg, path+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return int(r.Count), nil
}

func (s etcdSession) put(path string, data []byte) error {
	_, err := s.c.Put(bg, path, string(data))
	return err
}

// funcs are a locker.
type funcs struct{ acquire, release func() error }

func (l funcs) lock() error   { return l.acquire() }
func (l funcs) unlock() error { return l.release() }

func (s etcdSession) mutex(path string) locker {
	m := concurrency.NewMutex(s.s, path)
	return funcs{func() error { return m.Lock(bg) }, func() error { return m.Unlock(bg) }}
}

func (s etcdSession) reader(path string) locker {
	m := recipe.NewRWMutex(s.s, path)
	return funcs{m.RLock, m.RUnlock}
}

func (s etcdSession) writer(path string) locker {
	m := recipe.NewRWMutex(s.s, path)
	return funcs{m.Lock, m.Unlock}
}

func (s etcdSession) join(path string) error {
	_, err := s.c.Put(bg, path, address, clientv3.WithLease(s.s.Lease()))
	return err
}

func (s etcdSession) remove(path string) error {
	_, err := s.c.Delete(bg, path)
	return err
}

func (s etcdSession) followGroup(dir string, got func(int)) {
	s.followAll(dir, func(values map[string]string) { got(len(values)) })
}

func (s etcdSession) followTree(dir, key string, got func(int, string)) {
	s.followAll(dir, func(values map[string]string) { got(len(values), values[dir+"/"+key]) })
}

// followAll calls got with the values of all keys below dir, and again after each change.
func (s etcdSession) followAll(dir string, got func(map[string]string)) {
	r, err := s.c.Get(bg, dir+"/", clientv3.WithPrefix())
	check(err)
	changes := s.c.Watch(bg, dir+"/", clientv3.WithPrefix(), clientv3.WithRev(r.Header.Revision+1))
	values := make(map[string]string)
	for _, kv := range r.Kvs {
		values[string(kv.Key)] = string(kv.Value)
	}
	go func() {
		got(values)
		for r := range changes {
			for _, e := range r.Events {
				if e.Type == clientv3.EventTypeDelete {
					delete(values, string(e.Kv.Key))
				} else {
					values[string(e.Kv.Key)] = string(e.Kv.Value)
				}
				got(values)
			}
		}
	}()
}

func (s etcdSession) follow(path string, got func([]byte)) {
	changes := s.c.Watch(bg, path, clientv3.WithRev(1))
	go func() {
		for r := range changes {
			for _, e := range r.Events {
				got(e.Kv.Value)
			}
		}
	}()
}

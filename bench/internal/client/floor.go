package client

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
)

// A floor is go-zookeeper's plain calls: the least that can be sent. A lock of it is
// none: a contender watches the name that is one lower than its own and lists nothing,
// so it is right only while nobody dies.
type floor struct {
	conn
	turns
	made map[string]bool // directories; used by one goroutine
}

func dialFloor(addr string, timeout time.Duration, m *meter) (session, error) {
	c, err := dialZK(addr, timeout, m)
	return &floor{conn: c, made: make(map[string]bool)}, err
}

type chain struct {
	conn
	prefix, mine string
}

func (f *floor) mutex(path string) locker {
	if !f.made[path] {
		check(f.directory(path))
		f.made[path] = true
	}
	return &chain{conn: f.conn, prefix: path + "/n"}
}

func (l *chain) lock() (err error) {
	if l.mine, err = l.Create(l.prefix, nil, zk.FlagEphemeral|zk.FlagSequence, acl); err != nil {
		return err
	}
	number, err := strconv.Atoi(l.mine[len(l.prefix):])
	if err != nil || number == 0 {
		return err
	}
	_, _, gone, err := l.GetW(fmt.Sprintf("%s%010d", l.prefix, number-1))
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	return (<-gone).Err
}

func (l *chain) unlock() error { return l.Delete(l.mine, -1) }

// alone is the floor of a lock for which nobody else contends.
type alone struct{ *chain }

func (l alone) lock() (err error) {
	l.mine, err = l.Create(l.prefix, nil, zk.FlagEphemeral|zk.FlagSequence, acl)
	return err
}

func (f *floor) uncontended(path string) locker { return alone{f.mutex(path).(*chain)} }

func (f *floor) enter(path string) { f.take(f.mutex(path)) }

func (f *floor) follow(path string, got func([]byte)) {
	go func() {
		for {
			data, _, changed, err := f.GetW(path)
			if err != nil {
				return // and whoever needs more will miss it
			}
			got(data)
			<-changed
		}
	}()
}

func (f *floor) followGroup(dir string, got func(int)) {
	go func() {
		for {
			names, _, changed, err := f.ChildrenW(dir)
			if err != nil {
				return // and whoever needs more will miss it
			}
			got(len(names))
			<-changed
		}
	}()
}

// followTree follows nothing but the one setting: no more than that can be needed.
func (f *floor) followTree(dir, key string, got func(int, string)) {
	names, _, err := f.Children(dir)
	check(err)
	f.follow(dir+"/"+key, func(data []byte) { got(len(names), string(data)) })
}

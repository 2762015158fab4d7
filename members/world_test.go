package members_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

const (
	dir  = "/group/x"
	term = 6 * time.Second  // of the sessions of clients that are hurt
	long = 40 * time.Second // of the others'
)

var (
	bg    = context.Background()
	world = zk.WorldACL(zk.PermAll)
)

// A place is a bubble with a group in it.
type place struct{ *harness.World }

func bubble(t *testing.T, f func(w *place)) {
	t.Helper()
	harness.Bubble(t, func(w *harness.World) { f(&place{w}) })
}

// client returns a new client with a session of this timeout.
func (w *place) client(timeout time.Duration) *coord.Client {
	w.Helper()
	return w.Client(timeout).Client
}

// create makes a znode by the operator's hand, and the directories above it.
func (w *place) create(path, data string, flags int32, acl []zk.ACL) {
	w.Helper()
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			_, _ = w.Op().Create(path[:i], nil, 0, world) // if it is not there
		}
	}
	_, err := w.Op().Create(path, []byte(data), flags, acl)
	w.Must(err)
}

// owner returns the session that a member's znode belongs to, zero if there is none.
func (w *place) owner(id string) coord.SessionID {
	w.Helper()
	_, stat, err := w.Op().Exists(dir + "/" + id)
	w.Must(err)
	return coord.SessionID(stat.EphemeralOwner)
}

// open fails the test if ch is closed once all has come to rest.
func (w *place) open(what string, ch <-chan struct{}) {
	w.Helper()
	w.Rest()
	select {
	case <-ch:
		w.Fatalf("unexpected %s\n%s", what, w.Tree())
	default:
	}
}

// join makes c a member and waits until it is one.
func (w *place) join(c *coord.Client, id, data string) *coord.Hold {
	w.Helper()
	h := members.New(c, dir).Join(bg, members.Member{ID: id, Data: []byte(data)})
	w.Must(h.Wait())
	return h
}

// keep has c keep up a member, and waits until it is one.
func (w *place) keep(c *coord.Client, id, data string) *members.Membership {
	w.Helper()
	m := members.New(c, dir).Keep(bg, members.Member{ID: id, Data: []byte(data)})
	w.in(m)
	return m
}

// in waits until m is in.
func (w *place) in(m *members.Membership) members.Status {
	w.Helper()
	return w.stands(m, "in", func(s members.Status) bool { return s.In })
}

// out waits until m is out because of err.
func (w *place) out(m *members.Membership, err error) members.Status {
	w.Helper()
	return w.stands(m, "out: "+err.Error(), func(s members.Status) bool { return !s.In && errors.Is(s.Err, err) })
}

func (w *place) stands(m *members.Membership, what string, ok func(members.Status) bool) members.Status {
	w.Helper()
	for end := time.After(2 * time.Minute); ; {
		select {
		case s := <-m.Updates():
			if ok(s) {
				return s
			}
		case <-m.Done():
			select {
			case s := <-m.Updates():
				if ok(s) {
					return s
				}
			default:
			}
			w.Fatalf("ended with %v, want %s", m.Err(), what)
		case <-end:
			s, _ := m.Latest()
			w.Fatalf("stands %+v, want %s\n%s", s, what, w.Tree())
		}
	}
}

// truth says which members there are, by what is on the server.
func (w *place) truth() string {
	w.Helper()
	names, _, err := w.Op().Children(dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		w.Fatal(err)
	}
	slices.Sort(names)
	var all []string
	for _, name := range names {
		data, stat, err := w.Op().Get(dir + "/" + name)
		if errors.Is(err, zk.ErrNoNode) || err == nil && stat.EphemeralOwner == 0 {
			continue
		}
		w.Must(err)
		all = append(all, name+"="+string(data))
	}
	return strings.Join(all, " ")
}

// say puts a View in words.
func say(v members.View) string {
	var all []string
	for _, m := range v.Members {
		all = append(all, m.ID+"="+string(m.Data))
	}
	if v.Suspended {
		all = append(all, "?")
	}
	if v.Err != nil {
		all = append(all, "!")
	}
	return strings.Join(all, " ")
}

// A record is a stream and what it has said.
type record struct {
	*event.Stream[members.View]
	mu    sync.Mutex
	views []members.View
	each  func(members.View) // if not nil, called with each
}

// watch records what c sees of the group until the test is over.
func (w *place) watch(c *coord.Client, each func(members.View)) *record {
	r := &record{Stream: members.New(c, dir).Watch(w.Context()), each: each}
	go func() {
		for v := range r.All() {
			r.mu.Lock()
			r.views = append(r.views, v)
			if r.each != nil {
				r.each(v)
			}
			r.mu.Unlock()
		}
	}()
	return r
}

// said returns all that r has been told since it was asked last.
func (r *record) said() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, v := range r.views {
		all = append(all, say(v))
	}
	r.views = nil
	return all
}

// sees fails the test unless the newest View is want, once all has come to rest.
func (w *place) sees(r *record, want string) {
	w.Helper()
	time.Sleep(2 * time.Second) // of the bubble: longer than a directory rests
	w.Rest()
	v, any := r.Latest()
	if got := say(v); !any || got != want {
		w.Errorf("sees %q (any: %v), want %q; ended: %v\n%s", got, any, want, r.Err(), w.Tree())
	}
	for i := 1; i < len(v.Members); i++ {
		if v.Members[i-1].ID >= v.Members[i].ID {
			w.Errorf("not sorted: %q", say(v))
		}
	}
}

// lease waits until c, whose link is stalled, has given its session up.
func (w *place) expired(c *coord.Client, id coord.SessionID) {
	w.Helper()
	for end := time.After(2 * time.Minute); c.Kit().Session().ID() == id; {
		select {
		case <-c.Kit().Session().Done():
		case <-end:
			w.Fatal("session not given up")
		}
	}
}

func id(n int) string { return fmt.Sprintf("m%03d", n) }

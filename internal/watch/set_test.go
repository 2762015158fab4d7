package watch_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/watch"
)

func same(path string) string { return path }

// take takes what is new in b, when all has come to rest, and checks whether it is
// settled.
func (p *puppet) take(b *watch.Set, settled bool, want ...int64) {
	p.t.Helper()
	synctest.Wait()
	news, got := b.Take()
	var mzxids []int64
	for _, n := range news {
		mzxids = append(mzxids, n.Mzxid)
	}
	slices.Sort(mzxids)
	if got != settled || b.Consistent() != settled || !slices.Equal(mzxids, want) {
		p.t.Fatalf("took %v, settled: %v and %v; want %v, %v", mzxids, got, b.Consistent(), want, settled)
	}
}

// When what a Set has counts as of one moment: not while a read is to come, nor
// after a reconnect before the server has said that it has the watches.
func TestSetSettles(t *testing.T) {
	changed := zk.Event{Type: zk.EventNodeDataChanged, Path: "/a"}
	deleted := zk.Event{Type: zk.EventNodeDeleted, Path: "/a"}
	rearm := func(l *watch.Loop) { l.Rearmed([]string{"/a"}, nil, nil) }
	for name, run := range map[string]func(p *puppet, l *watch.Loop, b *watch.Set){
		"read and changed": func(p *puppet, l *watch.Loop, b *watch.Set) {
			b.Add("/a", event.Data, false)
			p.take(b, false)
			p.expect("GetW /a")(5)
			p.take(b, true, 5)
			l.Event(changed)
			p.take(b, false)
			p.expect("GetW /a")(6)
			p.take(b, true, 6)
		},
		"an event overtakes the reply": func(p *puppet, l *watch.Loop, b *watch.Set) {
			b.Add("/a", event.Data, false)
			reply := p.expect("GetW /a")
			l.Event(changed)
			reply(5)
			p.take(b, false, 5)
			p.expect("GetW /a")(6)
			p.take(b, true, 6)
		},
		"reconnected, and read before the watches are taken over": func(p *puppet, l *watch.Loop, b *watch.Set) {
			b.Add("/a", event.Data, false)
			p.expect("GetW /a")(5)
			p.take(b, true, 5)
			l.Suspend()
			p.take(b, false, 5)
			l.Resume(false)
			p.expect("Exists /a")(5)
			p.take(b, false, 5)
			rearm(l)
			p.take(b, true)
		},
		"reconnected, and read after": func(p *puppet, l *watch.Loop, b *watch.Set) {
			b.Add("/a", event.Data, false)
			p.expect("GetW /a")(5)
			p.take(b, true, 5)
			l.Suspend()
			l.Resume(false)
			rearm(l)
			p.take(b, false, 5)
			p.expect("Exists /a")(5)
			p.take(b, true, 5)
		},
		"a watch armed on a connection that is gone": func(p *puppet, l *watch.Loop, b *watch.Set) {
			b.Add("/a", event.Data, false)
			reply := p.expect("GetW /a")
			l.Suspend()
			l.Resume(false)
			reply(5) // whether the server has this watch now is not known
			p.take(b, false, 5)
			reply = p.expect("GetW /a")
			p.take(b, false)
			reply(5)
			p.take(b, true)
		},
		"a new session": func(p *puppet, l *watch.Loop, b *watch.Set) {
			b.Add("/a", event.Data, false)
			p.expect("GetW /a")(5)
			p.take(b, true, 5)
			l.Suspend()
			l.Resume(true)
			p.take(b, false, 5)
			p.expect("GetW /a")(5)
			p.take(b, true, 5)
		},
		"two, of which one changes": func(p *puppet, l *watch.Loop, b *watch.Set) {
			b.Add("/a", event.Data, false)
			p.expect("GetW /a")(5)
			p.take(b, true, 5)
			b.Add("/b", event.Data, false)
			p.take(b, false)
			reply := p.expect("GetW /b")
			l.Event(changed)
			reply(7)
			p.take(b, false, 7)
			p.expect("GetW /a")(7)
			p.take(b, true, 7)
		},
		"another has it already": func(p *puppet, l *watch.Loop, b *watch.Set) {
			l.Watch(bg, "/a", "/a", event.Data)
			p.expect("GetW /a")(5)
			p.take(b, true)
			b.Add("/a", event.Data, false)
			p.take(b, true, 5)
			b.Drop("/a", event.Data)
			p.take(b, true)
			l.Event(changed)
			p.expect("GetW /a")(6)
			p.take(b, true)
			b.Add("/a", event.Data, false)
			b.Add("/a", event.Data, false) // which changes nothing
			p.take(b, true, 6)
		},
		"what was not settled is dropped": func(p *puppet, l *watch.Loop, b *watch.Set) {
			b.Add("/a", event.Data, false)
			p.expect("GetW /a")(5)
			p.take(b, true, 5)
			b.Add("/b", event.Data, false)
			reply := p.expect("GetW /b")
			for len(b.Ready()) > 0 {
				<-b.Ready()
			}
			b.Drop("/b", event.Data)
			select {
			case <-b.Ready(): // else nobody would look
			default:
				p.t.Error("settled, and does not say so")
			}
			reply(5)
			p.take(b, true)
		},
		"presence is followed beyond a deletion in any case": func(p *puppet, l *watch.Loop, b *watch.Set) {
			b.Add("/a", event.Presence, true)
			p.expect("ExistsW /a")(5)
			p.take(b, true, 5)
			l.Event(deleted)
			p.expect("ExistsW /a")(gone)
			p.take(b, true, 0)
			l.Event(zk.Event{Type: zk.EventNodeCreated, Path: "/a"})
			p.expect("ExistsW /a")(9)
			p.take(b, true, 9)
		},
		"gone for good, and the name used again": func(p *puppet, l *watch.Loop, b *watch.Set) {
			b.Add("/a", event.Data, true)
			p.expect("GetW /a")(5)
			p.take(b, true, 5)
			l.Event(deleted)
			p.take(b, true, 0)
			s := l.WatchUntilDeleted(bg, "/a", "/a") // another finds it there again
			p.take(b, false)
			p.expect("GetW /a")(9)
			p.take(b, true, 9)
			if snap, _ := s.Latest(); snap.Mzxid != 9 {
				p.t.Errorf("the other has %+v", snap)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &puppet{t: t, calls: make(chan call, 100)}
				l := watch.NewLoop(p)
				l.Resume(true)
				b := l.NewSet(same)
				run(p, l, b)
				p.quiet()
				b.Close()
				p.take(b, true)
				l.Close(errEnd)
			})
		})
	}
}

// What cannot be followed any more, or not at all since the loop is over, is news
// that names the path, like any other.
func TestSetEnds(t *testing.T) {
	bubble(t, func(w *world) {
		_, err := w.Op().Create("/secret", nil, 0, zk.WorldACL(zk.PermAll&^zk.PermRead))
		w.Must(err)
		w.Create("/open", "")
		b := watch.SetOf(w.c)
		defer b.Close()
		ends := func(path string, want error) {
			w.Helper()
			synctest.Wait()
			news, _ := b.Take()
			for _, n := range news {
				var e *coord.Error
				if n.Path == path && errors.Is(n.Err, want) && errors.As(n.Err, &e) && e.Path == path && n.Kind == event.Data {
					return
				}
			}
			w.Errorf("%s: %+v, want %v", path, news, want)
		}
		b.Add("/secret", event.Data, false)
		ends("/secret", zk.ErrNoAuth)
		b.Add("/open", event.Data, false)
		synctest.Wait()
		w.Must(w.c.Close())
		ends("/open", coord.ErrClosed)
		b.Add("/late", event.Data, false)
		ends("/late", coord.ErrClosed)
	})
}

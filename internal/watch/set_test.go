package watch_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
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
		b := w.c.Kit().WatchSet()
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

// A generation is written to several znodes in one transaction. Whatever a Set
// calls settled shows one generation in all of them: while all is well, and while
// connections and sessions break at any frame.
func TestSetIsOfOneMoment(t *testing.T) {
	breaks := map[string]func(w *world, f coordtest.Frame) coordtest.Action{
		"nothing": func(*world, coordtest.Frame) coordtest.Action { return coordtest.Pass },
		"resets":  func(*world, coordtest.Frame) coordtest.Action { return coordtest.HangUp },
		"last":    func(*world, coordtest.Frame) coordtest.Action { return coordtest.PassAndHangUp },
		"expiry": func(w *world, _ coordtest.Frame) coordtest.Action {
			w.Expire(w.client)
			return coordtest.Pass
		},
	}
	const nodes, writes = 5, 120
	for _, name := range slices.Sorted(maps.Keys(breaks)) {
		for every := range 7 {
			t.Run(fmt.Sprintf("%s, frame %d of 7", name, every), func(t *testing.T) {
				bubble(t, func(w *world) {
					w.Create("/t", "0")
					var ops []any
					b := w.c.Kit().WatchSet()
					defer b.Close()
					b.Add("/t", event.Children, false)
					for i := range nodes {
						path := fmt.Sprint("/t/", i)
						w.Create(path, "0")
						ops = append(ops, &zk.SetDataRequest{Path: path, Version: -1})
						b.Add(path, event.Data, false)
					}
					// One comes and goes with the generations, odd and even.
					b.Add("/t/odd", event.Presence, false)
					n, next := 0, time.Now()
					w.line.OnFrame(func(f coordtest.Frame) coordtest.Action {
						n++
						if f.Op == "connect" && f.Dir == coordtest.ToClient { // it must get somewhere
							next = time.Now().Add(time.Duration(n%30) * time.Millisecond)
						}
						if f.N > 0 && n%7 == every && !time.Now().Before(next) {
							next = time.Now().Add(time.Duration(5+n%30) * time.Millisecond)
							return breaks[name](w, f)
						}
						return coordtest.Pass
					})
					done := make(chan struct{})
					go func() {
						defer close(done)
						for gen := 1; gen <= writes; gen++ {
							for _, op := range ops {
								op.(*zk.SetDataRequest).Data = fmt.Append(nil, gen)
							}
							all := append(slices.Clone(ops), any(&zk.DeleteRequest{Path: "/t/odd", Version: -1}))
							if gen%2 == 1 {
								all[nodes] = &zk.CreateRequest{Path: "/t/odd", Acl: zk.WorldACL(zk.PermAll)}
							}
							if gen%3 == 0 {
								slices.Reverse(all)
							}
							if _, err := w.Op().Multi(all...); err != nil {
								w.Errorf("generation %d: %v", gen, err)
								return
							}
							if gen%4 > 0 {
								time.Sleep(time.Duration(gen%4) * time.Millisecond)
							}
						}
					}()
					now := make(map[string]string)
					last := ""
					over := time.After(time.Hour)
					for last != fmt.Sprint(writes) {
						select {
						case <-b.Ready():
						case <-over:
							w.Fatalf("stays at %q: %v", last, now)
						}
						news, ok := b.Take()
						for _, n := range news {
							w.Must(n.Err)
							now[fmt.Sprint(n.Kind, n.Path)] = say(n.Kind, n.Snapshot)
						}
						if !ok {
							continue
						}
						last = now["data/t/0"]
						odd, list := "nothing", "[0 1 2 3 4]"
						if len(last) > 0 && strings.Contains("13579", last[len(last)-1:]) {
							odd, list = "there", "[0 1 2 3 4 odd]"
						}
						for i := range nodes {
							if v := now[fmt.Sprint("data/t/", i)]; v != last {
								w.Fatalf("settled on %v", now)
							}
						}
						if now["presence/t/odd"] != odd || now["children/t"] != list {
							w.Fatalf("settled on %v", now)
						}
					}
					<-done
					w.line.OnFrame(nil)
				})
			})
		}
	}
}

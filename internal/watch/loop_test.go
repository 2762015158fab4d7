package watch_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/watch"
)

// A puppet is a source whose answers the test gives, one by one.
type puppet struct {
	watch.Conn // nil: what is not answered below is not asked
	t          *testing.T
	calls      chan call
}

type call struct {
	what   string
	answer chan<- zk.Stat
}

var errEnd = errors.New("the end")

var errLost = errors.New("connection lost")

func (p *puppet) Read(r *watch.Read) (*watch.Answer, error) { return r.Do(p) }
func (p *puppet) Refused(error) bool                        { return false }
func (p *puppet) Ended(_ string, cause error) error         { return cause }

func (p *puppet) Exists(path string) (bool, *zk.Stat, error) { return p.exists("Exists " + path) }

func (p *puppet) exists(what string) (bool, *zk.Stat, error) {
	_, stat, err := p.ask(what)
	if errors.Is(err, zk.ErrNoNode) {
		return false, new(zk.Stat), nil // which is an answer
	}
	return err == nil, stat, err
}

func (p *puppet) Get(path string) ([]byte, *zk.Stat, error) { return p.ask("Get " + path) }

func (p *puppet) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, err := p.ask("GetW " + path)
	return data, stat, nil, err
}

func (p *puppet) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	there, stat, err := p.exists("ExistsW " + path)
	return there, stat, nil, err
}

// gone is the version of what is not there.
const gone = -1

// ask waits for the answer. One without an mzxid stands for a lost connection.
func (p *puppet) ask(what string) ([]byte, *zk.Stat, error) {
	answer := make(chan zk.Stat)
	p.calls <- call{what, answer}
	stat := <-answer
	switch stat.Mzxid {
	case 0:
		return nil, nil, errLost
	case gone:
		return nil, nil, zk.ErrNoNode
	}
	return nil, &stat, nil
}

// expect waits for a request and returns the function that answers it with a
// version.
func (p *puppet) expect(what string) func(mzxid int64) {
	p.t.Helper()
	synctest.Wait()
	select {
	case c := <-p.calls:
		if c.what != what {
			p.t.Fatalf("asked for %q, want %q", c.what, what)
		}
		return func(mzxid int64) { c.answer <- zk.Stat{Czxid: 1, Mzxid: mzxid} }
	default:
		p.t.Fatalf("asked for nothing, want %q", what)
		return nil
	}
}

func (p *puppet) quiet() {
	p.t.Helper()
	synctest.Wait()
	select {
	case c := <-p.calls:
		p.t.Fatalf("asked for %q", c.what)
	default:
	}
}

// The moments at which the truth is on its way in two ways. In each, a loop that
// believed the wrong one would be deaf, or end on an old value.
func TestLoopRaces(t *testing.T) {
	changed := zk.Event{Type: zk.EventNodeDataChanged, Path: "/a"}
	for name, race := range map[string]func(p *puppet, l *watch.Loop){
		"an event overtakes the reply that armed its watch": func(p *puppet, l *watch.Loop) {
			reply := p.expect("GetW /a")
			l.Event(changed)
			reply(5)
			p.expect("GetW /a")(9)
		},
		"an event of another kind does not": func(p *puppet, l *watch.Loop) {
			reply := p.expect("GetW /a")
			l.Event(zk.Event{Type: zk.EventNodeChildrenChanged, Path: "/a"})
			reply(9)
		},
		"the session ends while its last read is in flight": func(p *puppet, l *watch.Loop) {
			reply := p.expect("GetW /a")
			l.Resume(true)
			reply(5) // and armed a watch that is no more
			p.expect("GetW /a")(9)
		},
		"two reconnects, and a read between them": func(p *puppet, l *watch.Loop) {
			p.expect("GetW /a")(5)
			p.quiet() // the reply is in
			l.Resume(false)
			reply := p.expect("Exists /a") // the watch was taken along, and the bytes are known
			l.Resume(false)
			reply(5)
			p.expect("Exists /a")(9)
			reply = p.expect("Get /a")
			l.Event(changed)
			reply(9)
			p.expect("GetW /a")(9)
		},
		"an event while it is read again anyway": func(p *puppet, l *watch.Loop) {
			p.expect("GetW /a")(5)
			p.quiet() // the reply is in
			l.Resume(false)
			reply := p.expect("Exists /a")
			l.Event(changed)
			reply(5)
			p.expect("GetW /a")(9)
		},
		"a watch that let a change pass": func(p *puppet, l *watch.Loop) {
			p.expect("GetW /a")(5)
			p.quiet() // the reply is in
			l.Resume(false)
			p.expect("Exists /a")(7)
			p.expect("Get /a")(7)
			p.expect("GetW /a")(9)
		},
		"a read is lost": func(p *puppet, l *watch.Loop) {
			p.expect("GetW /a")(0)
			p.quiet() // for a moment
			time.Sleep(10 * time.Millisecond)
			p.expect("GetW /a")(9)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &puppet{t: t, calls: make(chan call, 100)}
				l := watch.NewLoop(p)
				l.Resume(true)
				s := l.Watch(bg, "/a", "/a", event.Data)
				race(p, l)
				p.quiet()
				if snap, _ := s.Latest(); snap.Mzxid != 9 || snap.Suspended {
					t.Errorf("ends on %+v", snap)
				}
				// It still hears.
				l.Event(changed)
				p.expect("GetW /a")(10)
				synctest.Wait()
				if snap, _ := s.Latest(); snap.Mzxid != 10 {
					t.Errorf("does not hear: %+v", snap)
				}
				l.Close(errEnd)
				if s.Err() != errEnd {
					t.Errorf("Err = %v", s.Err())
				}
			})
		})
	}
}

// Close ends streams at once. Wait waits for reads that are under way, and their
// results do no harm.
func TestLoopCloseWaitsForReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &puppet{t: t, calls: make(chan call, 100)}
		l := watch.NewLoop(p)
		l.Resume(true)
		s := l.Watch(bg, "/a", "/a", event.Data)
		reply := p.expect("GetW /a")
		closed := make(chan struct{})
		go func() {
			l.Close(errEnd)
			l.Wait()
			close(closed)
		}()
		<-s.Done()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Wait has not waited")
		default:
		}
		reply(5)
		<-closed
		p.quiet()
		if _, ok := s.Latest(); ok || s.Err() != errEnd {
			t.Errorf("value %v after the end: %v", ok, s.Err())
		}
		l.Resume(true)
		l.Suspend()
		l.Event(zk.Event{})
		if s := l.Watch(bg, "/a", "/a", event.Data); s.Err() != errEnd {
			t.Errorf("a stream on a loop that is over: %v", s.Err())
		}
	})
}

// The same over a line: the reply to a read is held back while a second change
// happens, subscribers come, and the connection breaks. All end on the last value.
func TestReplyHeldBack(t *testing.T) {
	for _, armed := range []bool{false, true} { // a watch is there already, taken along by a reconnect
		for _, more := range []int{0, 1, 3} {
			for _, resets := range []int{0, 1, 2} {
				t.Run(fmt.Sprintf("armed %v, %d more subscribers, %d resets", armed, more, resets), func(t *testing.T) {
					bubble(t, func(w *world) {
						w.Create("/a", "0")
						var streams []*event.Stream[event.Snapshot]
						watch := func() { streams = append(streams, w.c.Watch(bg, "/a", event.Data)) }
						if armed {
							watch()
							w.expect(streams[0], event.Data, "0")
						}
						held := make(chan func(), 100)
						var hold atomic.Int32
						hold.Store(1)
						w.line.OnFrame(func(f coordtest.Frame) coordtest.Action {
							if f.Dir == coordtest.ToClient && (f.Op == "getData" || f.Op == "exists") && hold.Add(-1) >= 0 {
								held <- w.line.Stall(coordtest.ToClient)
							}
							return coordtest.Pass
						})
						if armed {
							w.line.Reset()
						} else {
							watch()
						}
						heal := <-held
						for i := range max(1, resets) {
							w.Set("/a", fmt.Sprint("change", i))
							for range more {
								watch()
							}
							if i < resets {
								hold.Store(1)
								w.line.Reset()
								heal()
								heal = <-held
							}
						}
						w.Set("/a", "last")
						heal()
						w.Await(w.c, coord.Connected)
						for i, value := range []string{"last", "later"} {
							if i > 0 {
								w.Set("/a", value)
							}
							synctest.Wait()
							for n, s := range streams {
								if snap, ok := s.Latest(); !ok || string(snap.Data) != value || snap.Suspended {
									t.Errorf("stream %d is at %q (suspended: %v), want %q", n, snap.Data, snap.Suspended, value)
								}
							}
						}
					})
				})
			}
		}
	}
}

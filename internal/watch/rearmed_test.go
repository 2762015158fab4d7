package watch_test

import (
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/watch"
)

// What is read on a new connection is of one moment only once the server knows of
// the watches: until then it could let a change pass without a word.
func TestSettledOnlyWhenRearmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &puppet{t: t, calls: make(chan call, 100)}
		l := watch.NewLoop(p)
		l.Resume(true)
		b := l.NewSet(func(path string) string { return path })
		settled := func(want bool, what string) {
			t.Helper()
			synctest.Wait()
			if _, got := b.Take(); got != want {
				t.Errorf("%s: settled %v", what, got)
			}
		}
		b.Add("/a", event.Data, true)
		settled(false, "before anything was read")
		p.expect("GetW /a")(5)
		settled(true, "read, with a watch")
		l.Suspend()
		settled(false, "without a connection")
		l.Resume(false)
		p.expect("Exists /a")(5)
		settled(false, "read anew, while the server may not know of the watch")
		l.Rearmed(nil, []string{"/a"}, nil)
		settled(false, "another kind of watch was taken over")
		l.Rearmed([]string{"/a"}, nil, nil)
		settled(true, "the watch was taken over")
		l.Resume(false)
		p.expect("Exists /a")(5)
		l.Event(zk.Event{Type: zk.EventNodeDataChanged, Path: "/a"}) // by which the server used up the watch
		reply := p.expect("GetW /a")
		settled(false, "changed, and not read")
		reply(6)
		settled(true, "read, with a watch made on this connection")
		l.Resume(true)
		reply = p.expect("GetW /a")
		settled(false, "in a new session")
		reply(6)
		settled(true, "in a new session, read")
		b.Close()
		l.Close(errEnd)
	})
}

// A subscriber that comes while the answer that the last znode of a name is gone is
// under way gets an answer of its own: the name may be in use again.
func TestFollowWhileTheEndIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &puppet{t: t, calls: make(chan call, 100)}
		l := watch.NewLoop(p)
		l.Resume(true)
		old := l.WatchUntilDeleted(bg, "/a", "/a")
		p.expect("GetW /a")(5)
		p.quiet() // the reply is in
		l.Event(zk.Event{Type: zk.EventNodeDataChanged, Path: "/a"})
		end := p.expect("GetW /a")
		young := l.WatchUntilDeleted(bg, "/a", "/a")
		p.quiet() // it is in
		end(gone)
		p.expect("GetW /a")(7)
		synctest.Wait()
		if snap, ok := young.Latest(); !ok || snap.Mzxid != 7 {
			t.Errorf("the new follower has %+v", snap)
		}
		if snap, _ := old.Latest(); snap.Mzxid != 7 {
			t.Errorf("the old follower has %+v", snap)
		}
		l.Close(errEnd)
	})
}

// The answer that a followed znode is gone may be overtaken by the news that the
// link is down. It is the last there is to say, so it is said as it is: nothing
// that comes later would take back that it is uncertain. (R52)
func TestEndOvertakenByTheLink(t *testing.T) {
	for name, play := range map[string]func(p *puppet, l *watch.Loop){
		"at the first read": func(p *puppet, l *watch.Loop) {
			end := p.expect("GetW /a")
			l.Suspend()
			p.quiet() // it is in
			end(gone)
		},
		"when it is read anew": func(p *puppet, l *watch.Loop) {
			p.expect("GetW /a")(5)
			p.quiet() // the reply is in
			l.Suspend()
			l.Resume(false)
			end := p.expect("Exists /a")
			l.Suspend()
			p.quiet() // it is in
			end(gone)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &puppet{t: t, calls: make(chan call, 100)}
				l := watch.NewLoop(p)
				l.Resume(true)
				s := l.WatchUntilDeleted(bg, "/a", "/a")
				says := func(when string) {
					t.Helper()
					p.quiet()
					if snap, ok := s.Latest(); !ok || snap.Exists || snap.Suspended {
						t.Errorf("%s: any: %v, exists: %v, suspended: %v", when, ok, snap.Exists, snap.Suspended)
					}
				}
				play(p, l)
				says("without a link")
				l.Resume(false)
				l.Event(zk.Event{Type: zk.EventNodeDeleted, Path: "/a"})
				l.Rearmed([]string{"/a"}, nil, nil)
				says("with a new one")
				l.Close(errEnd)
			})
		})
	}
}

package interop

import (
	"fmt"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/rwlock"
)

// share: a reader of kazoo and ours hold together, in either order.
func (x *contest) share(p *peer, reader string) {
	m := rwlock.New(x.client(), x.dir)
	before := x.held(m.AcquireRead(x.ctx))
	p.say(reader, x.dir)
	x.hears(p, "enter read")
	after := x.held(m.AcquireRead(x.ctx))
	x.hears(p, "leave")
	p.say("stop")
	x.hears(p, "done")
	x.release(before)
	x.release(after)
}

// overtaken: a reader of kazoo gets the lock before a writer behind it, unless stuck.
// In kazoo 2.8 Lock._get_predecessor goes through the contenders that the patterns
// match up to the own znode. If they do not match that, as of a reader, it goes on
// to the last of all. So the reader waits for the writer behind it, which waits for the
// reader, and nobody has the lock ever again (python-zk/kazoo#649, mended in 2.9).
func (x *contest) overtaken(p *peer, reader string, stuck bool) {
	c := x.client()
	m := rwlock.New(c, x.dir)
	first := x.held(m.AcquireWrite(x.ctx))
	p.say(reader, x.dir)
	x.queued(c, 2)
	second := m.AcquireWrite(x.ctx)
	x.queued(c, 3)
	x.release(first)
	line := x.queued(c, 2)

	says := make(chan string, 1)
	go func() {
		line, err := p.hear()
		says <- fmt.Sprint(line, err)
	}()
	said, waits := "", false
	x.eventually("the reader enters, or waits for the writer", func() bool {
		select {
		case said = <-says:
			return true
		default:
			waits = x.watches(c, line[0], line[1])
			return waits
		}
	})
	if waits != stuck {
		x.Errorf("the reader waits for the writer behind it: %t, want %t", waits, stuck)
	}
	if waits {
		x.release(second) // it gives up
		said = <-says
	}
	if want := fmt.Sprint("enter read", error(nil)); said != want {
		x.Fatalf("the reader says %s, want %s", said, want)
	}
	select {
	case <-second.Acquired():
		x.Error("the writer has the lock beside the reader")
	default:
	}
	x.hears(p, "leave")
	p.say("stop")
	x.hears(p, "done")
	if !waits {
		x.release(x.held(second))
	}
}

// removed: an object of kazoo looks for the directory but once, and a new one anew.
func (x *contest) removed(python string) {
	x.release(x.held(lock.New(x.client(), x.dir).Acquire(x.ctx)))
	got, err := output(python, "-c", `
import sys
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

zk = KazooClient(hosts=sys.argv[1], timeout=40)
zk.start(timeout=60)
lock = zk.Lock(sys.argv[2], extra_lock_patterns=["-lock-"])
with lock:
    pass
zk.delete(sys.argv[2])  # as the server does after a time
try:
    lock.acquire()
except NoNodeError:
    print("NoNodeError")
print(zk.Lock(sys.argv[2], extra_lock_patterns=["-lock-"]).acquire())
zk.stop()
`, x.server, x.dir)
	if err != nil || got != "NoNodeError\nTrue" {
		x.Errorf("kazoo says %q, %v", got, err)
	}
}

// held waits until h is held.
func (x *contest) held(h *coord.Hold) *coord.Hold {
	x.Helper()
	if err := h.Wait(); err != nil {
		x.Fatal(err)
	}
	return h
}

func (x *contest) release(h *coord.Hold) {
	x.Helper()
	if err := h.Release(x.ctx); err != nil {
		x.Error(err)
	}
}

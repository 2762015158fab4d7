package interop

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/rwlock"
)

// TestCurator: Curator's locks and ours exclude each other where they shall, and
// everybody has its turn; its Revoker is understood; members see each other.
func TestCurator(t *testing.T) {
	v, argv := needCurator(t)
	p := launch(t, "Curator", argv, 3)
	p.run(t, "InterProcessMutex", func(x *contest) {
		x.theirs(p, "mutex", "mutex", "mutex")
		x.mutexes()
		x.finish()
	})
	p.run(t, "InterProcessReadWriteLock", func(x *contest) {
		x.theirs(p, "reader", "reader", "writer")
		x.readersAndWriters()
		x.finish()
	})
	p.run(t, "downgrade", func(x *contest) { x.theirDowngrade(p.peers[0], v.since(5, 5)) })
	p.run(t, "Revoker of a mutex", func(x *contest) {
		c := x.client()
		x.revoked(c, lock.New(c, x.dir).Acquire(x.ctx), p, "mutex", "mutexRevoker")
	})
	p.run(t, "Revoker of a writer", func(x *contest) {
		c := x.client()
		x.revoked(c, rwlock.New(c, x.dir).AcquireWrite(x.ctx), p, "reader", "writeRevoker")
	})
	p.run(t, "counters", func(x *contest) { x.refusesCounts(p.peers[0]) })
	p.run(t, "LeaderSelector", func(x *contest) {
		x.theirs(p, "selector", "selector")
		x.candidates()
		x.finish()
	})
	p.run(t, "LeaderSelector observed", func(x *contest) { x.observed(p.peers[0], "selector") })
	p.run(t, "LeaderLatch", func(x *contest) { x.refused(p.peers[0]) })
	p.run(t, "GroupMember", func(x *contest) { x.together(p.peers[0]) })
	p.run(t, "DistributedDoubleBarrier", func(x *contest) { x.doubleBarrier(p) })
	p.run(t, "DistributedBarrier", func(x *contest) { x.gate(p) })
}

// theirDowngrade: a writer of Curator that goes on as a reader keeps a writer of ours
// out, if it keeps anybody out. Up to 5.4 its read has a number of its own, behind all
// waiters, and every writer among them has the lock beside it (CURATOR-621).
func (x *contest) theirDowngrade(p *peer, keeps bool) {
	p.say("downgrader", x.dir)
	x.hears(p, "enter write")
	c := x.client()
	h := rwlock.New(c, x.dir).AcquireWrite(x.ctx)
	x.queued(c, 2)
	p.say("on")
	x.hears(p, "reads")
	kept := false
	x.eventually("our writer has the lock, or waits for the reader", func() bool {
		select {
		case <-h.Acquired():
			return true
		default:
			line := x.queued(c, 2)
			kept = x.watches(c, line[1], line[0])
			return kept
		}
	})
	if kept != keeps {
		x.Errorf("the reader keeps our writer out: %t, want %t", kept, keeps)
	}
	p.say("stop")
	x.hears(p, "done")
	x.release(x.held(h))
}

// revoked: Curator's Revoker makes h, of client c, lose the lock, and a contender of
// Curator does not have it before h is released.
func (x *contest) revoked(c *coord.Client, h *coord.Hold, p *process, behind, revoker string) {
	x.rounds = 1
	x.held(h)
	ours := x.join("ours", "holder")
	x.enter(ours, true)
	x.theirs(p, behind)
	x.queued(c, 2)
	p.peers[1].say(revoker, x.dir)
	x.hears(p.peers[1], "done")
	x.eventually("the holder is told", func() bool { return h.Err() != nil })
	if err := h.Err(); !errors.Is(err, coord.ErrRevoked) {
		x.Errorf("the holder is told %v", err)
	}
	x.queued(c, 2) // nobody has left
	x.leave(ours)
	x.release(h)
	x.finish()
}

// together: a GroupMember of Curator and a member of ours see each other, with their
// data, and ours sees the other leave.
func (x *contest) together(p *peer) {
	g := members.New(x.client(), x.dir)
	me := x.held(g.Join(x.ctx, members.Member{ID: "self", Data: []byte("ours")}))
	p.say("member", x.dir)
	x.hears(p, "sees self=ours")
	views := g.Watch(x.ctx)
	theirs := func() string {
		view, _ := views.Latest()
		m, _ := view.Member("curator")
		return string(m.Data)
	}
	x.eventually("the member of Curator is there", func() bool { return theirs() == "theirs" })
	p.say("stop")
	x.eventually("it has left", func() bool { return theirs() == "" })
	x.hears(p, "done")
	x.release(me)
}

// needCurator ends the test unless there are a server and a Curator. It returns the
// version of that, and the command that compiles and runs the program.
func needCurator(t *testing.T) (version, []string) {
	t.Helper()
	ensemble.Shared(t) // else there is nothing to look for
	modules, err := output("java", "--list-modules")
	if err == nil && !strings.Contains(modules, "jdk.compiler") {
		err = errors.New("this java has no compiler")
	}
	need(t, err)
	jars := cmp.Or(os.Getenv("ZOOKEEPER_JARS"), "/usr/share/java")
	const recipes = "curator-recipes-"
	found, _ := filepath.Glob(filepath.Join(jars, recipes+"*.jar"))
	if len(found) == 0 {
		need(t, fmt.Errorf("needs Curator: no %s*.jar in %s", recipes, jars))
	}
	name := filepath.Base(found[0])
	v, err := parseVersion(strings.TrimPrefix(name, recipes))
	need(t, err)
	t.Log(name)
	// The manifest of Debian's jar names all it needs but a logger.
	return v, []string{"java", "-cp", found[0] + ":" + filepath.Join(jars, "slf4j-nop.jar"),
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "testdata/Contenders.java"}
}

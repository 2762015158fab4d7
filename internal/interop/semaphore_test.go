package interop

import (
	"errors"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock/semaphore"
)

// permits is how many the semaphores of the other clients have.
const permits = 2

// TestCuratorSemaphore: contenders of Curator's InterProcessSemaphoreV2 and ours share the
// permits of a directory, whoever comes first: no more than there are hold together, and
// everybody has its turn. We write the number, which Curator does not know of.
func TestCuratorSemaphore(t *testing.T) {
	_, argv := needCurator(t)
	p := launch(t, "Curator", argv, 2)
	for _, first := range []string{"ours", "Curator"} {
		p.run(t, first+" first", func(x *contest) {
			c := x.client()
			if first == "ours" {
				h := x.held(semaphore.New(c, x.dir, permits).Acquire(x.ctx))
				x.theirs(p, "permit", "permit")
				x.eventually("a lease of Curator beside ours", func() bool {
					v, err := semaphore.New(c, x.dir, permits).Contenders(x.ctx)
					return err == nil && len(v.Holders) == permits
				})
				x.release(h)
				x.permits()
			} else {
				x.theirs(p, "permit", "permit")
				x.eventually("a lease of Curator", func() bool {
					v, err := semaphore.New(c, x.dir, permits).Contenders(x.ctx)
					return err == nil && len(v.Holders) > 0
				})
				x.permits()
			}
			x.finish()
			if x.most > permits {
				x.Errorf("%d held together, of %d", x.most, permits)
			}
			v, err := semaphore.New(c, x.dir, permits).Contenders(x.ctx)
			if err != nil || len(v.Holders) > 0 || len(v.Waiters) > 0 || v.Permits != permits {
				x.Errorf("in the end %+v, %v", v, err)
			}
		})
	}
}

// permits adds three contenders of ours.
func (x *contest) permits() {
	x.Helper()
	for range 3 {
		c := x.client()
		x.ours("Semaphore", false, c, semaphore.New(c, x.dir, permits).Acquire, nil)
	}
}

// TestKazooSemaphore: a directory in which kazoo's Semaphore has a permit is refused, and
// one that it has left is ours to use if the number is the same.
func TestKazooSemaphore(t *testing.T) {
	k := needKazoo(t)
	p := launch(t, "kazoo", []string{k.python, "testdata/contenders.py"}, 1)
	p.run(t, "Semaphore", func(x *contest) {
		c, peer := x.client(), p.peers[0]
		peer.say("Semaphore:", x.dir)
		x.hears(peer, "enter read")
		x.hears(peer, "leave") // it says so before it does
		if err := semaphore.New(c, x.dir, permits).Acquire(x.ctx).Wait(); !errors.Is(err, coord.ErrForeign) {
			x.Errorf("beside a holder of kazoo: %v", err)
		}
		peer.say("stop")
		x.hears(peer, "done")
		if err := semaphore.New(c, x.dir, permits+1).Acquire(x.ctx).Wait(); !errors.Is(err, semaphore.ErrPermits) {
			x.Errorf("with another number than kazoo's: %v", err)
		}
		x.release(x.held(semaphore.New(c, x.dir, permits).Acquire(x.ctx)))
	})
}

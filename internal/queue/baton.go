package queue

import (
	"sync"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// When the contender before ours goes, we must know one thing: whether it held. Then all
// that were before it are gone, and it is our turn; otherwise we must list the queue.
// The baton tells. It is a second ephemeral znode of a contender, made and removed in one
// transaction with the first, in a directory of its own. Who waits watches the baton of
// the one before it instead of the znode. A contender that held writes to its baton when
// it deletes it, so that its watcher hears of a write and not of a deletion. Nobody else
// writes there, which cannot be said of the znodes in the queue: a revocation is written
// to those.
//
// The one behind a contender that is alone before it needs no baton: whatever becomes of
// that, nobody else is left. And whoever cannot be sure of what it heard, because the
// baton was deleted without a write, or never there, or the connection was lost, looks at
// the znode itself, and at the queue.

// batonDir returns the directory of the batons for the lock in dir. It is not dir, where
// each child that is created uses up a number, and Curator counts all that are there.
func batonDir(dir string) string { return dir + "-batons" }

// batonPath returns the path of the baton of the contender id.
func (d *driver) batonPath(id string) string { return zkpath.Join(batonDir(d.Dir), id) }

// makeBatonDir makes the directory of the batons if it is missing, which is when err is
// coord.ErrNoNode; otherwise it returns err.
func (d *driver) makeBatonDir(err error) error {
	return d.s.InDir(background, batonDir(d.Dir), func() error {
		missing := err
		err = nil
		return missing
	})
}

// removeBoth removes our node and our baton, which is passed on if pass. If the ensemble
// refuses that, it removes the baton alone.
func (d *driver) removeBoth(node string, pass bool) error {
	baton := d.batonPath(d.m.id)
	ops := []coord.Op{coord.OpDelete(baton, -1), coord.OpDelete(d.path(node), -1)}
	if pass {
		ops = append([]coord.Op{coord.OpSet(baton, nil, -1)}, ops...)
	}
	err := d.s.Retry(background, func() error {
		_, err := d.s.Txn(background, ops...)
		return err
	})
	if err == nil || !d.s.Refused(err) {
		return err
	}
	// One of them, or both, may be gone, for the answer to an earlier try may be lost.
	if in := d.removeBaton(); in.kind == refused && !d.s.Refused(in.err) {
		return in.err
	}
	return err
}

// removeBaton removes our baton, which is not passed on.
func (d *driver) removeBaton() input { return d.delete(d.batonPath(d.m.id)) }

// crowds are the directories of one client in which a contender has last come behind two
// others or more, so that a baton was worth its while; and whether batons are refused
// there. They are kept in the client's values.
type crowds struct {
	mu sync.Mutex
	in map[string]crowd
}

type crowd uint8

const (
	noCrowd crowd = iota
	crowded
	refusing // for good: batons may not be made
)

// maxCrowds bounds what a client that uses many locks keeps of them.
const maxCrowds = 1024

type crowdsKey struct{}

func crowdsOf(c *coord.Client) *crowds {
	all, _ := c.Kit().Values().LoadOrStore(crowdsKey{}, &crowds{in: make(map[string]crowd)})
	return all.(*crowds)
}

// set notes what there is in dir. That batons are refused stays.
func (all *crowds) set(dir string, now crowd) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if was := all.in[dir]; was == now || was == refusing {
		return
	}
	if now == noCrowd {
		delete(all.in, dir)
		return
	}
	if len(all.in) >= maxCrowds {
		for other := range all.in {
			delete(all.in, other) // any: it is only a guess
			break
		}
	}
	all.in[dir] = now
}

// noteCrowd notes what our first view of the queue tells the next contender to expect.
func (d *driver) noteCrowd() {
	now := noCrowd
	if d.m.state == waiting && !d.m.lastBlocker {
		now = crowded
	}
	crowdsOf(d.c).set(d.Dir, now)
}

// expected reports whether the next contender in dir shall have a baton.
func (all *crowds) expected(dir string) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.in[dir] == crowded
}

// ExpectCrowd makes the next contender of c in dir expect others before it and behind it,
// for tests.
func ExpectCrowd(c *coord.Client, dir string) { crowdsOf(c).set(dir, crowded) }

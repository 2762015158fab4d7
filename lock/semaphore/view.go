package semaphore

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/queue"
	"github.com/zkcoord/zkcoord/internal/subtree"
)

// A View is who holds a permit of a semaphore, and who waits for one. The slices are not to
// be modified.
type View struct {
	// Holders are those that have a lease, in the order in which they got it. They may be
	// more than Permits after [Semaphore.Resize]. A contender of Curator has its lease as
	// soon as it is the first that waits, and so is in both lists.
	Holders []coord.Contender
	// Waiters are those in the queue, in their order. The first may be about to get its
	// permit, or have just got it, and then is a holder already.
	Waiters []coord.Contender
	// Permits is the number in force, zero if none is written.
	Permits int
	// Suspended says that the connection is down, and that this is what was last known.
	Suspended bool
}

func (v View) equal(w View) bool {
	return v.Permits == w.Permits && v.Suspended == w.Suspended && slices.Equal(v.Holders, w.Holders) && slices.Equal(v.Waiters, w.Waiters)
}

// Contenders returns who holds a permit of s and who waits for one. The answer comes from
// one server, which may be a little behind the others, and the lists are not of one moment.
// It costs four requests, and one for each holder and waiter. The number of permits that s
// has does not matter.
//
// The error is a [*coord.Error]: the cause of ctx's end, if that comes first,
// [coord.ErrClosed], [coord.ErrInvalidPath], [coord.ErrForeign], or the ensemble's refusal.
// A directory that does not exist has no contenders, and is no error.
func (s *Semaphore) Contenders(ctx context.Context) (View, error) {
	v, err := s.contenders(ctx)
	if err != nil {
		if e, ok := err.(*coord.Error); ok {
			err = e.Err
		}
		return View{}, &coord.Error{Op: "contenders", Path: s.dir, Err: err}
	}
	return v, nil
}

func (s *Semaphore) contenders(ctx context.Context) (v View, err error) {
	if err := s.checkDir(); err != nil {
		return View{}, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		v.Permits, err = s.number(ctx)
		return err
	})
	g.Go(func() (err error) {
		v.Waiters, err = queue.Contenders(ctx, s.c, s.gate())
		v.Waiters = asWaiters(v.Waiters)
		return err
	})
	g.Go(func() error {
		names, err := s.children(ctx, s.leases())
		if err != nil {
			return err
		}
		read, err := queue.ReadAll(ctx, s.c, s.leases(), names)
		for name, n := range read {
			v.Holders = append(v.Holders, holder(name, n.Data, n.Stat))
		}
		inOrder(v.Holders)
		return err
	})
	return v, g.Wait()
}

// holder returns what others see of the owner of a lease.
func holder(name string, data []byte, stat coord.Stat) coord.Contender {
	who := queue.Owner(name, data, stat)
	who.Holds = true
	return who
}

// asWaiters returns those in the queue as contenders for a permit: the first holds the gate,
// and waits.
func asWaiters(queue []coord.Contender) []coord.Contender {
	queue = slices.Clone(queue)
	for i := range queue {
		queue[i].Holds = false
	}
	return queue
}

// inOrder puts holders into the order in which they got their leases.
func inOrder(holders []coord.Contender) {
	slices.SortFunc(holders, func(a, b coord.Contender) int { return cmp.Compare(a.Token, b.Token) })
}

// number reads the number of permits, and sees whether the directory is that of a semaphore.
func (s *Semaphore) number(ctx context.Context) (int, error) {
	var dir coord.Node
	err := s.c.Kit().Retry(ctx, func(session *coord.Session) (err error) {
		dir, err = session.Get(ctx, s.dir)
		return err
	})
	if err != nil {
		return 0, err
	}
	names, err := s.children(ctx, s.dir)
	if err != nil {
		return 0, err
	}
	if err := checkForeign(names); err != nil {
		return 0, err
	}
	return parseNumber(dir.Data)
}

// children lists a directory. One that does not exist has no children.
func (s *Semaphore) children(ctx context.Context, dir string) (names []string, err error) {
	err = s.c.Kit().Retry(ctx, func(session *coord.Session) (err error) {
		names, _, err = session.Children(ctx, dir)
		return err
	})
	return names, err
}

// Watch follows the holders of s's permits and those that wait, until ctx ends. The stream
// says Suspended while the connection is down: the holders that it names may have gone by
// then. The number of permits that s has does not matter.
//
// For each holder and each waiter that comes or goes a directory is listed once, and a new
// one is read; each holder is watched, so that a revocation is seen.
//
// The stream ends with a [*coord.Error]: the cause of ctx's end, [coord.ErrClosed],
// [coord.ErrInvalidPath], [coord.ErrForeign], or the ensemble's refusal.
func (s *Semaphore) Watch(ctx context.Context) *event.Stream[View] {
	if err := s.checkDir(); err != nil {
		return event.Ended[View](&coord.Error{Op: "watch", Path: s.dir, Err: err})
	}
	return coord.NewStream(ctx, s.c, "watch", s.dir, s.watch)
}

func (s *Semaphore) watch(ctx context.Context, p event.Publisher[View]) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	waiters := queue.Watch(ctx, s.c, s.gate())
	holders := s.watchHolders(ctx)
	number := s.c.Watch(ctx, s.dir, event.Data)
	parts := s.c.Watch(ctx, s.dir, event.Children)
	var last View
	published := false
	for {
		select {
		case <-waiters.Updates():
		case <-holders.Updates():
		case <-number.Updates():
		case <-parts.Updates():
		case <-waiters.Done():
			return waiters.Err()
		case <-holders.Done():
			return holders.Err()
		case <-number.Done():
			return number.Err()
		case <-parts.Done():
			return parts.Err()
		}
		w, ok1 := waiters.Latest()
		h, ok2 := holders.Latest()
		n, ok3 := number.Latest()
		all, ok4 := parts.Latest()
		if !ok1 || !ok2 || !ok3 || !ok4 {
			continue
		}
		if err := checkForeign(all.Children); err != nil {
			return err
		}
		permits, err := parseNumber(n.Data)
		if err != nil {
			return err
		}
		now := View{h.Contenders, asWaiters(w.Contenders), permits, w.Suspended || h.Suspended || n.Suspended}
		if !published || !now.equal(last) {
			last, published = now, true
			p.Publish(now)
		}
	}
}

// watchHolders follows the leases.
func (s *Semaphore) watchHolders(ctx context.Context) *event.Stream[coord.Contention] {
	var last []coord.Contender
	return subtree.Watch(ctx, s.c, s.leases(), subtree.Recipe[coord.Contention]{
		Op:   "watch",
		Stat: true,
		Fold: func(nodes []*subtree.Node) (coord.Contention, bool) {
			var all []coord.Contender
			for _, n := range nodes {
				if n.Err != nil && !errors.Is(n.Err, coord.ErrNoAuth) {
					continue
				}
				now := holder(n.Name, n.Data, coord.Stat(n.Stat))
				if i := slices.IndexFunc(last, func(k coord.Contender) bool { return k.Node == now.Node }); now.Revoked && i >= 0 {
					now.Label = last[i].Label
				}
				all = append(all, now)
			}
			inOrder(all)
			news := !slices.Equal(all, last)
			last = all
			return coord.Contention{Contenders: slices.Clone(all)}, news
		},
		Suspend: func(q coord.Contention) coord.Contention {
			q.Suspended = true
			return q
		},
	})
}

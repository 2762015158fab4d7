package locktest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// IsolatedLeader cuts the leader of three real servers off from the others and not from
// its clients. For as long as it does not notice, it answers what needs no quorum:
// heartbeats, reads, syncs, and clients that come back to their sessions. The others
// elect anew, and end the sessions that they do not hear. A holder there is told before
// the next gets the lock, or is saved by another server; in no case do two hold. (R2,
// R16, R21, R85.)
//
// Holders of all subjects meet each isolation together: those of hows, and all in the
// long form.
func IsolatedLeader(t *testing.T, hows []ensemble.Isolation, subjects ...Subject) {
	if !harness.Stress {
		t.Parallel() // it mostly waits
	}
	e := ensemble.New(t, &ensemble.Options{
		Nodes:      3,
		Namespaces: true,
		// So that those that start anew do not wait long for the one that is cut off.
		JVM: []string{"-Dzookeeper.cnxTimeout=500"},
	})
	var table []*row
	isolate := func(T time.Duration, how ensemble.Isolation, busy bool, each int) {
		name := fmt.Sprintf("T=%v, %s", T, how)
		if busy {
			name += ", a write stuck at the leader"
		}
		t.Run(name, func(t *testing.T) {
			for _, r := range isolated(t, e, subjects, T, how, busy, each) {
				r.name = name
				table = append(table, r)
			}
		})
	}
	if !harness.Stress {
		for _, how := range hows {
			isolate(4*time.Second, how, false, 6)
		}
	} else {
		for _, T := range []time.Duration{4 * time.Second, 6 * time.Second, 10 * time.Second} {
			for _, how := range []ensemble.Isolation{ensemble.Reset, ensemble.Restart, ensemble.Silence} {
				isolate(T, how, false, 20)
				isolate(T, how, true, 20)
			}
		}
	}
	for _, r := range table {
		t.Logf("%-50s %-45s %2d held on, %2d lost; smallest margin %8v; told after %v, granted after %v", r.name, r.subject, r.kept, r.margins.runs,
			r.margins.least.Round(time.Millisecond), r.told.Round(time.Millisecond), r.had.Round(time.Millisecond))
	}
}

// A row is what became of the holders of one subject in one isolation.
type row struct {
	name, subject string
	margins       margins // of the holders that were told

	mu        sync.Mutex
	late      int           // told when the next had it already
	kept      int           // held on by way of another server
	told, had time.Duration // from the isolation to the last loss, and to the first grant after a loss
}

// A captive is a holder of a lock that is connected to the leader, and a contender that
// wants it.
type captive struct {
	w     *World
	a     *Client
	ha    *coord.Hold
	alone bool // knows no other server
	next  <-chan grant
}

// A grant is a hold and when it was acquired.
type grant struct {
	h  *coord.Hold
	at time.Time
}

// isolated isolates the leader of e once, with this many holders of each subject.
func isolated(t *testing.T, e *ensemble.Ensemble, subjects []Subject, T time.Duration, how ensemble.Isolation, busy bool, each int) []*row {
	root := harness.On(t, e)
	old := e.Settled(t)
	servers := append([]string{old.Addr()}, root.Elsewhere(old)...)
	b := root.Dial(servers[1:], &coord.Options{SessionTimeout: harness.Long})
	root.SetOperator(b)
	captives := make([][]*captive, len(subjects))
	for i, s := range subjects {
		for j := range each {
			c := &captive{
				w:     In(root.At(fmt.Sprintf("%s-%d/%d", root.Dir, i, j)), s),
				alone: j%4 > 0,
			}
			c.a = at(root, servers, c.alone, T)
			captives[i] = append(captives[i], c)
		}
	}
	for j := range each {
		for i := range captives {
			c := captives[i][j]
			c.ha = c.w.Held(c.a)
			c.next = c.w.contend(b)
		}
		<-time.After(T / 6 / time.Duration(each)) // each at another phase of the heartbeats
	}
	writer := root.Dial(servers[:1], &coord.Options{SessionTimeout: harness.Long})
	heal := root.Isolate(old, how)
	defer heal()
	began := time.Now()
	if busy {
		go func() { // until its client is closed
			_, _ = writer.Create(bg, root.Dir+"-stuck", nil, coord.Ephemeral)
		}()
	}
	rows := make([]*row, len(subjects))
	var over sync.WaitGroup
	for i, s := range subjects {
		rows[i] = &row{subject: s.Name}
		for _, c := range captives[i] {
			c.w = c.w.aside()
			over.Go(func() {
				o := c.outcome(old.Addr())
				rows[i].add(o, began)
				c.w.Must(o.next.Release(bg))
			})
		}
	}
	over.Wait()
	heal()
	for _, of := range captives {
		for _, c := range of {
			over.Go(func() { c.w.Must(c.a.Close()) }) // all at once, as each takes its time
		}
	}
	over.Wait()
	for _, r := range rows {
		measured.merge(&r.margins)
		if r.late > 0 {
			t.Errorf("%s: of %d holders %d were told after the next was granted, by up to %v", r.subject, each, r.late, -r.margins.least)
		}
	}
	return rows
}

// add notes what has become of a captive.
func (r *row) add(o outcome, began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.saved {
		r.kept++
		return
	}
	r.margins.add(o.margin())
	if o.margin() <= 0 {
		r.late++
	}
	r.told = max(r.told, o.told.Sub(began))
	if had := o.had.Sub(began); r.had == 0 || had < r.had {
		r.had = had
	}
}

// at returns a client at the first of servers, which if alone is the only one that it
// knows.
func at(w *harness.World, servers []string, alone bool, T time.Duration) *Client {
	w.Helper()
	first := servers[0]
	if alone {
		servers = servers[:1]
	}
	c := w.Dial(servers, &coord.Options{SessionTimeout: T})
	w.MoveTo(c, first)
	return c
}

// contend has b want the lock, and delivers it when b has it. If that fails the channel
// is closed.
func (w *World) contend(b *Client) <-chan grant {
	next := make(chan grant, 1)
	w = w.aside()
	contend := w.Contend
	if contend == nil {
		contend = w.Acquire
	}
	go func() {
		defer close(next)
		h := contend(bg, b.Client, w.Dir)
		w.Wait("grant to the next", h.Acquired())
		next <- grant{h, time.Now()}
	}()
	return next
}

// An outcome is what became of a captive.
type outcome struct {
	saved     bool      // by another server; else
	told, had time.Time // when the holder was told and the next was granted
	next      *coord.Hold
}

// margin is by how much the holder was told before the next was granted.
func (o outcome) margin() time.Duration { return o.had.Sub(o.told) }

// outcome waits until c's holder is lost and the next is granted, or until it is
// saved by another server than the leader and has released.
func (c *captive) outcome(leader string) (o outcome) {
	const patience = 30 * time.Second
	w := c.w
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for lost, next := c.ha.Lost(), c.next; o.told.IsZero() || o.next == nil; {
		select {
		case <-lost:
			o.told, lost = time.Now(), nil
		case got, ok := <-next:
			if !ok {
				w.FailNow() // contend has said why
			}
			o.next, o.had, next = got.h, got.at, nil
		case <-look.C:
			// In this order, as it is suspended before it looks for another server.
			elsewhere := c.a.Conn().Server() != leader
			state, _ := c.a.State()
			switch {
			case o.next == nil && elsewhere && state == coord.Connected && c.ha.Err() == nil:
				w.Must(c.ha.Release(bg))
				got, ok := <-next
				if !ok {
					w.FailNow()
				}
				return outcome{saved: true, next: got.h}
			case o.next != nil && time.Since(o.had) > patience:
				o.told = time.Now() // at the earliest
				return o
			}
		}
	}
	w.Wants(c.ha.Err(), coord.ErrExpired)
	if o.next.Token() <= c.ha.Token() {
		w.Errorf("token %d after %d", o.next.Token(), c.ha.Token())
	}
	return o
}

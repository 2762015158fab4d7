package locktest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// IsolatedLeader cuts the leader of three real servers off from the others and not
// from its clients. For as long as it does not notice, it answers what needs no
// quorum: heartbeats, reads, syncs, and who comes back to its session. The others
// elect anew, and end the sessions that they do not hear. A holder there is told
// before the next gets the lock, or is saved by another server; in no case do two
// hold. (R2, R16, R21, R85.)
//
// Holders of all subjects meet each isolation together.
func IsolatedLeader(t *testing.T, subjects ...Subject) {
	if !Stress {
		t.Parallel() // it mostly waits
	}
	e := ensemble.New(t, &ensemble.Options{Nodes: 3, Namespaces: true})
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
	if !Stress {
		isolate(4*time.Second, ensemble.Reset, false, 10)
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
	margins       tally // of those who were told

	mu        sync.Mutex
	late      int           // told when the next had it already
	kept      int           // held on by way of another server
	told, had time.Duration // from the isolation to the last loss, and to the first grant after a loss
}

// A captive is a holder of a lock who is connected to the leader, and another who
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
	root := &World{TB: t, real: e}
	var old *ensemble.Node
	root.Eventually("a leader and two followers", func() bool {
		old = e.Leader()
		return old != nil && len(e.Followers()) == 2
	})
	servers := append([]string{old.Addr()}, root.elsewhere(e, old)...)
	b := root.Dial(servers[1:], &coord.Options{SessionTimeout: 40 * time.Second})
	dir := fmt.Sprintf("/isolated-%d", time.Now().UnixNano())
	captives := make([][]*captive, len(subjects))
	for i, s := range subjects {
		for j := range each {
			c := &captive{
				w:     &World{TB: t, Subject: s, Dir: fmt.Sprintf("%s-%d/%d", dir, i, j), real: e, operator: b.Client},
				alone: j%4 > 0,
			}
			c.a = root.at(old, servers, c.alone, T)
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
	writer := root.Dial(servers[:1], &coord.Options{SessionTimeout: 40 * time.Second})
	heal := root.isolate(e, old, how)
	defer heal()
	began := time.Now()
	if busy {
		go func() { // until its client is closed
			_, _ = coord.Call(bg, writer.Session(), func(conn *zk.Conn) (string, error) {
				return conn.Create(dir+"-stuck", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			})
		}()
	}
	rows := make([]*row, len(subjects))
	var over sync.WaitGroup
	for i, s := range subjects {
		rows[i] = &row{subject: s.Name}
		for _, c := range captives[i] {
			c.w.TB = aside{t}
			over.Go(func() { c.outcome(rows[i], old, began) })
		}
	}
	over.Wait()
	heal()
	for _, of := range captives {
		for _, c := range of {
			over.Go(func() { must(c.w, c.a.Close()) }) // all at once, as each takes its time
		}
	}
	over.Wait()
	for _, r := range rows {
		margins.merge(&r.margins)
		if r.late > 0 {
			t.Errorf("%s: of %d holders %d were told after the next was granted, by up to %v", r.subject, each, r.late, -r.margins.least)
		}
	}
	return rows
}

// at returns a client at the server n, which is the first of servers, and if alone
// the only one that it knows.
func (w *World) at(n *ensemble.Node, servers []string, alone bool, T time.Duration) *Client {
	w.Helper()
	if alone {
		servers = servers[:1]
	}
	c := w.Dial(servers, &coord.Options{SessionTimeout: T})
	for at := c.Conn().Server(); at != n.Addr(); at = c.Conn().Server() {
		c.Link.Reset()
		w.Eventually("another server", func() bool { return c.Conn().Server() != at })
	}
	await(w, c, coord.Connected)
	return c
}

// contend has b want the lock, and delivers it when b has it.
func (w *World) contend(b *Client) <-chan grant {
	next := make(chan grant, 1)
	w = &World{TB: aside{w.TB}, Subject: w.Subject, Dir: w.Dir, real: w.real, Fake: w.Fake, operator: w.operator}
	contend := w.Contend
	if contend == nil {
		contend = w.Acquire
	}
	go func() {
		h := contend(bg, b.Client, w.Dir)
		w.Wait("grant to the next", h.Acquired())
		next <- grant{h, time.Now()}
	}()
	return next
}

// outcome waits until c's holder is lost and the next is granted, or until it is
// saved, and notes that in r.
func (c *captive) outcome(r *row, old *ensemble.Node, began time.Time) {
	w := c.w
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(2 * time.Minute)
	lost, next := c.ha.Lost(), c.next
	var told time.Time
	var had grant
	for told.IsZero() || had.h == nil {
		select {
		case <-lost:
			told, lost = time.Now(), nil
		case had = <-next:
			next = nil
		case <-look.C:
			// In this order, as it is suspended before it looks for another server.
			elsewhere := c.a.Conn().Server() != old.Addr()
			if state, _ := c.a.State(); !elsewhere || state != coord.Connected || c.ha.Err() != nil || had.h != nil {
				continue
			}
			must(w, c.ha.Release(bg))
			had = <-next
			must(w, had.h.Release(bg))
			r.mu.Lock()
			defer r.mu.Unlock()
			r.kept++
			return
		case <-deadline:
			w.Fatalf("told %v, granted %v", !told.IsZero(), had.h != nil)
		}
	}
	margin := had.at.Sub(told)
	r.margins.add(margin)
	r.mu.Lock()
	r.told = max(r.told, told.Sub(began))
	if r.had == 0 || had.at.Sub(began) < r.had {
		r.had = had.at.Sub(began)
	}
	if margin <= 0 {
		r.late++
	}
	r.mu.Unlock()
	wants(w, c.ha.Err(), coord.ErrExpired)
	if had.h.Token() <= c.ha.Token() {
		w.Errorf("token %d after %d", had.h.Token(), c.ha.Token())
	}
	must(w, had.h.Release(bg))
}

package members_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/members"
)

// A meter counts what one client asks for.
type meter struct {
	listings, reads, others atomic.Int64 // requests, heartbeats excepted
	bytes                   atomic.Int64 // in both directions
}

// dial opens a connection on which m counts.
func (m *meter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &metered{Conn: conn, m: m}, nil
}

type metered struct {
	net.Conn
	m     *meter
	begun bool // past the handshake
}

// Write takes one frame, as the client library writes them.
func (c *metered) Write(b []byte) (int, error) {
	if op := jute.NewDecoder(b[4:]).RequestHeader().Op; c.begun && op != jute.OpPing {
		switch op {
		case jute.OpGetData:
			c.m.reads.Add(1)
		case jute.OpGetChildren, jute.OpGetChildren2:
			c.m.listings.Add(1)
		default:
			c.m.others.Add(1)
		}
	}
	c.begun = true
	c.m.bytes.Add(int64(len(b)))
	return c.Conn.Write(b)
}

func (c *metered) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.m.bytes.Add(int64(n))
	return n, err
}

// A cost is what the meters have counted since they were read last.
type cost struct{ listings, reads, others, bytes []int64 }

func read(meters []*meter) (c cost) {
	for _, m := range meters {
		c.listings = append(c.listings, m.listings.Swap(0))
		c.reads = append(c.reads, m.reads.Swap(0))
		c.others = append(c.others, m.others.Swap(0))
		c.bytes = append(c.bytes, m.bytes.Swap(0))
	}
	return c
}

func (c cost) String() string {
	spread := func(n []int64) string {
		slices.Sort(n)
		return fmt.Sprintf("%d to %d, median %d", n[0], n[len(n)-1], n[len(n)/2])
	}
	return fmt.Sprintf("listings %s; data reads %s; other requests %s; bytes %s",
		spread(c.listings), spread(c.reads), spread(c.others), spread(c.bytes))
}

// TestScale: each watcher of a large group reads the data of each member once,
// and again only if they have changed; a burst of joins has the group listed far
// less often than there are joins; and every view ends on the truth.
func TestScale(t *testing.T) {
	all, watching, changing := 400, 20, 40
	if harness.Stress {
		all, watching, changing = 2000, 100, 100
	}
	const homes = 4 // clients that the members share
	// A busy machine is not what this is about.
	const T = 40 * time.Second
	w := harness.On(t, ensemble.New(t, &ensemble.Options{JVM: unsynced}))
	servers := w.Real.Servers()
	dir := "/scale"
	var clients []*coord.Client
	for range homes {
		clients = append(clients, harness.Dial(t, servers, &coord.Options{SessionTimeout: T}))
	}
	name := func(i int) string { return fmt.Sprintf("member-%04d", i) }
	payload := func(i, version int) []byte { return fmt.Appendf(nil, "%-100s", fmt.Sprint(i, " ", version)) }
	home := func(i int) *members.Group { return members.New(clients[i%homes], dir) }

	// Members that will change are kept, the others join.
	before := w.Heap()
	began := time.Now()
	var keeps []*members.Membership
	var first, burst []*coord.Hold
	for i := range all / 2 {
		m := members.Member{ID: name(i), Data: payload(i, 0)}
		if i < changing {
			keeps = append(keeps, home(i).Keep(t.Context(), m))
		} else {
			first = append(first, home(i).Join(t.Context(), m))
		}
	}
	held(t, first)
	for _, k := range keeps {
		if s := <-k.Updates(); !s.In {
			t.Fatal(s.Err)
		}
	}
	t.Logf("%d members in %v", all/2, time.Since(began).Round(time.Millisecond))
	half := w.Heap() - before // what half of the members take themselves

	var meters []*meter
	var watchers []*coord.Client
	for range watching {
		m := new(meter)
		meters = append(meters, m)
		watchers = append(watchers, harness.Dial(t, servers, &coord.Options{SessionTimeout: T, Dial: m.dial}))
	}
	read(meters)
	empty := w.Heap()
	began = time.Now()
	var onlookers []*onlooker
	for _, c := range watchers {
		onlookers = append(onlookers, lookOn(t, c, dir))
	}
	var ids []string
	for i := range all / 2 {
		ids = append(ids, name(i))
	}
	// settle waits until each view is ok, and returns what that has cost.
	settle := func(what string, began time.Time, ok func(members.View) bool) cost {
		t.Helper()
		var last time.Duration
		for _, o := range onlookers {
			last = max(last, o.until(t, what, ok).Sub(began))
		}
		c := read(meters)
		t.Logf("%s: the last of %d views was complete after %v; each: %v", what, watching, last.Round(time.Millisecond), c)
		return c
	}
	c := settle("first view", began, exactly(ids))
	if slices.Max(c.listings) > 1 || slices.Max(c.reads) > int64(all/2) {
		t.Error("the first view costs more than one listing, and one read for each member")
	}
	for i, o := range onlookers {
		if !exactly(ids)(o.first) {
			t.Errorf("first view %d has %d members", i, len(o.first.Members))
		}
	}
	memory := func(others int64) {
		t.Helper()
		grown := w.Heap() - empty - others
		t.Logf("heap: %d KiB for each of %d views of %d", grown/int64(watching)>>10, watching, len(ids))
	}
	memory(0)

	began = time.Now()
	for i := all / 2; i < all; i++ {
		burst = append(burst, home(i).Join(t.Context(), members.Member{ID: name(i), Data: payload(i, 0)}))
		ids = append(ids, name(i))
	}
	held(t, burst)
	took := time.Since(began)
	t.Logf("%d joins in %v", all/2, took.Round(time.Millisecond))
	c = settle("after the burst", began, exactly(ids))
	took = time.Since(began)
	// What is promised goes by time, of which a slow machine takes more.
	const perChild = 50 * time.Microsecond
	most := int64(took/(time.Duration(all/2)*perChild)) + 2
	if n := slices.Max(c.listings); n > min(most, int64(all/8)) {
		t.Errorf("%d listings for %d joins in %v, want at most %d", n, all/2, took, min(most, int64(all/8)))
	}
	if n := slices.Max(c.reads); n > int64(all/2+all/100) {
		t.Errorf("%d data reads for %d joins", n, all/2)
	}
	memory(half)

	began = time.Now()
	var updates sync.WaitGroup
	for i, k := range keeps {
		updates.Go(func() {
			if err := k.SetData(t.Context(), payload(i, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	updates.Wait()
	c = settle(fmt.Sprint(changing, " changes"), began, func(v members.View) bool {
		for i := range changing {
			if m, ok := v.Member(name(i)); !ok || string(m.Data) != string(payload(i, 1)) {
				return false
			}
		}
		return exactly(ids)(v)
	})
	if slices.Max(c.listings) > 0 || slices.Max(c.reads) > int64(changing) {
		t.Errorf("%d changes cost %v", changing, c)
	}

	began = time.Now()
	clients[homes-1].Close()
	for i := all; i >= 0; i-- {
		if i%homes == homes-1 {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == name(i) })
		}
	}
	settle(fmt.Sprint("a client with ", all/homes, " members closed"), began, exactly(ids))
	for i, o := range onlookers {
		if came, left, other := o.count('+'), o.count('-'), o.count('~'); came != all || left != all/homes || other != changing {
			t.Errorf("onlooker %d saw %d come, %d leave and %d change, want %d, %d and %d", i, came, left, other, all, all/homes, changing)
		}
	}
}

// held waits until all of holds are.
func held(t *testing.T, holds []*coord.Hold) {
	t.Helper()
	for _, h := range holds {
		if err := h.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

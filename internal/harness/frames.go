package harness

import (
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A Record is what has passed on a client's link since it was made, or was last asked.
type Record struct {
	w *World
	c *Client

	mu       sync.Mutex
	requests []coordtest.Frame
	events   int
}

// fence is the path that a Record asks for to know that all has come.
const fence = "/harness-fence"

// Record returns a new Record of c. It takes the place of the link's hook. Heartbeats
// do not count, nor do syncs and checks, by which a client that holds something proves
// that its session lives.
func (w *World) Record(c *Client) *Record {
	r := &Record{w: w, c: c}
	c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case f.N == 0, f.Op == "sync", f.Op == "check", f.Path == fence:
		case f.Dir == coordtest.ToServer:
			r.requests = append(r.requests, f)
		case f.Op == "event":
			r.events++
		}
		return coordtest.Pass
	})
	return r
}

// all waits until what is under way has passed. On a real server that is so when two
// round trips have brought nothing new, and what comes later counts for the next time.
func (r *Record) all() {
	r.w.Helper()
	r.w.Rest()
	if r.w.Fake != nil {
		return
	}
	for last, quiet := -1, 0; quiet < 2; quiet++ {
		_, err := coord.Call(r.w.Context(), r.c.Session(), func(conn *zk.Conn) (bool, error) {
			there, _, err := conn.Exists(fence)
			return there, err
		})
		r.w.Must(err)
		r.mu.Lock()
		if n := len(r.requests) + r.events; n != last {
			last, quiet = n, 0
		}
		r.mu.Unlock()
	}
}

// Requests returns the requests, each as its operation and path, and forgets them.
func (r *Record) Requests() []string {
	r.w.Helper()
	r.all()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, f := range r.requests {
		all = append(all, strings.TrimSpace(f.Op+" "+f.Path))
	}
	r.requests = nil
	return all
}

// Ops returns the operations of the requests, sorted, and forgets them.
func (r *Record) Ops() []string {
	r.w.Helper()
	var all []string
	for _, q := range r.Requests() {
		op, _, _ := strings.Cut(q, " ")
		all = append(all, op)
	}
	slices.Sort(all)
	return all
}

// Costs checks which operations there were, in any order, and forgets them.
func (r *Record) Costs(what string, want ...string) {
	r.w.Helper()
	r.asked(len(want))
	if got := r.Ops(); !slices.Equal(got, want) {
		r.w.Errorf("%s costs %q, want %q", what, got, want)
	}
}

// asked waits until there were n requests.
func (r *Record) asked(n int) {
	r.w.Helper()
	if r.w.Fake != nil {
		return // what is not asked when all have come to rest never is
	}
	r.w.Eventually("the requests", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.requests) >= n
	})
}

// Events returns how many events there were, and forgets them.
func (r *Record) Events() int {
	r.w.Helper()
	r.all()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.events
	r.events = 0
	return n
}

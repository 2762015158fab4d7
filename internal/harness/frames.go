package harness

import (
	"slices"
	"strings"
	"sync"

	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A Record is what has passed on a link, but for heartbeats.
type Record struct {
	mu     sync.Mutex
	frames []coordtest.Frame
}

// RecordLink begins a Record of l. It takes the place of the link's hook.
func RecordLink(l *coordtest.Link) *Record {
	r := new(Record)
	l.OnFrame(func(f coordtest.Frame) coordtest.Action {
		r.Add(f)
		return coordtest.Pass
	})
	return r
}

// Add adds a frame to r, for hooks that do more than that.
func (r *Record) Add(f coordtest.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Op != "ping" {
		r.frames = append(r.frames, f)
	}
}

// Requests returns the requests so far, each as its operation and path.
func (r *Record) Requests() []string {
	return r.requests(func(coordtest.Frame) bool { return true })
}

func (r *Record) requests(which func(coordtest.Frame) bool) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.frames {
		if f.Dir == coordtest.ToServer && which(f) {
			all = append(all, strings.TrimSpace(f.Op+" "+f.Path))
		}
	}
	return all
}

// Forget has r begin anew.
func (r *Record) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = nil
}

// A Cost is what a client asks for and is told of. Syncs and checks, by which a
// client that holds something keeps its lease renewed, do not count.
type Cost struct {
	*Record
	w *World
	c *Client
}

// Cost begins the Cost of c. It takes the place of the link's hook.
func (w *World) Cost(c *Client) *Cost { return &Cost{RecordLink(c.Link), w, c} }

// fence is the path that a Cost asks for to know that all has come.
const fence = "/harness-fence"

func counts(f coordtest.Frame) bool {
	return f.Op != "sync" && f.Op != "check" && f.Path != fence
}

// Ops returns the operations of the requests, sorted, and the number of events since
// it was called last. What is under way belongs to them: on a real server it has come
// when two round trips have brought nothing new, and what comes later counts for the
// next time.
func (k *Cost) Ops() (ops []string, events int) {
	k.w.Helper()
	k.w.Rest()
	for last, quiet := -1, 0; k.w.Real != nil && quiet < 2; quiet++ {
		_, _, err := k.c.Exists(k.w.Context(), fence)
		k.w.Must(err)
		if n := len(k.requests(counts)); n != last {
			last, quiet = n, 0
		}
	}
	for _, q := range k.requests(counts) {
		op, _, _ := strings.Cut(q, " ")
		ops = append(ops, op)
	}
	slices.Sort(ops)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.frames {
		if f.Op == "event" {
			events++
		}
	}
	k.frames = nil
	return ops, events
}

// Is checks how many events there were since the Cost was last looked at, and which
// operations, in order.
func (k *Cost) Is(what string, events int, want ...string) {
	k.w.Helper()
	if k.w.Real != nil {
		k.w.Eventually("requests of "+what, func() bool { return len(k.requests(counts)) >= len(want) })
	}
	if ops, got := k.Ops(); got != events || !slices.Equal(ops, want) {
		k.w.Errorf("%s costs %q and %d events, want %q and %d", what, ops, got, want, events)
	}
}

// IsBrief checks what a hold that is released at once has cost, of which no event is heard.
// A real server may take more than the 50 ms after which a holder follows its znode. There
// the reads and the events of that do not count.
func (k *Cost) IsBrief(what string, want ...string) {
	k.w.Helper()
	if k.w.Real == nil {
		k.Is(what, 0, want...)
		return
	}
	k.w.Eventually("requests of "+what, func() bool { return len(k.requests(counts)) >= len(want) })
	reads := func(op string) bool { return op == "getData" }
	ops, _ := k.Ops()
	if !slices.Equal(slices.DeleteFunc(ops, reads), slices.DeleteFunc(slices.Clone(want), reads)) {
		k.w.Errorf("%s costs %q, want %q", what, ops, want)
	}
}

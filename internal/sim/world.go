package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/history"
)

// A Plant is something broken on purpose, to show that it is found. The zero Plant is
// nothing.
type Plant struct {
	NoFence bool // the store does not compare tokens
	NoGuard bool // writers do without the guard
	Deaf    bool // holders take long to stop when they have lost something
	Lock    func(ctx context.Context, c *coord.Client, path string) *coord.Hold
	Add     func(ctx context.Context, c *coord.Client, path string, delta int64) (int64, error)
}

// A Result is what a run of a script has shown.
type Result struct {
	Violations []Violation
	Events     []history.Event
	Report     *history.Report
	Injected   map[string]int // faults, by kind
	Met        map[string]int // those that have hit something
	Lines      int            // operations
	Time       time.Duration  // virtual, of all clients together
}

// A Violation is a promise that was not kept.
type Violation struct {
	Rule string // by which kind of promise: shrinking keeps it
	Text string
}

func (v Violation) String() string { return v.Rule + ": " + v.Text }

// A world is where a script is played.
type world struct {
	*harness.World
	script  *Script
	plant   Plant
	rec     *history.Recorder
	clients []*client // by number; there is no number 0
	ctx     context.Context
	over    chan struct{}  // closed when the script is at its end
	ops     sync.WaitGroup // of operations, of followers not
	views   sync.WaitGroup // of followers
	lines   sync.WaitGroup // of lines

	// Owned by the goroutine of the world.
	agenda []due
	faults int64

	mu         sync.Mutex // guards the rest
	result     *Result
	running    map[string]int // operations, by their line
	fences     map[string]coord.Token
	sizes      map[string][]size
	frozen     []*fault
	isolated   *fault
	denied     map[string]*fault
	everDenied bool
	filled     bool
	following  []*view
}

// A due is something that the world does at a time.
type due struct {
	at   time.Time
	do   func()
	line bool // it is that of a line
}

// Play plays a script in a bubble.
func Play(t *testing.T, s *Script, plant Plant) *Result {
	r := &Result{Injected: make(map[string]int), Met: make(map[string]int)}
	defer deterministic(s.Seed)()
	harness.Bubble(t, func(hw *harness.World) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		w := &world{
			World: hw, script: s, plant: plant, result: r, ctx: ctx,
			clients: make([]*client, 1),
			over:    make(chan struct{}),
			running: make(map[string]int),
			fences:  make(map[string]coord.Token),
			sizes:   make(map[string][]size),
			denied:  make(map[string]*fault),
		}
		w.settle()
		began := time.Now()
		w.rec = history.NewRecorder(nil, func() time.Duration { return time.Since(began) })
		w.play(began)
		if len(r.Violations) == 0 {
			w.end(cancel)
		}
		cancel()
		r.Time = time.Since(began) * time.Duration(s.Clients)
		for _, c := range w.clients[1:] {
			c.Close()
			c.link.Close()
		}
		w.lines.Wait()
		w.views.Wait()
		w.ops.Wait()
		if len(r.Violations) == 0 {
			w.nothingLeft()
		}
	})
	if len(r.Events) > 0 {
		r.Report = history.Check(r.Events, history.Complete(), history.Grace(history.Pause, unaware))
		for _, v := range r.Report.Violations {
			r.Violations = append(r.Violations, Violation{v.Rule, v.String()})
		}
	}
	return r
}

// unaware is for how long a program that goes on after a pause may not know that its session
// is over. A real one learns that from its clock, which has run on; this one from a server,
// from which it may be cut off by then.
const unaware = 30 * time.Second

// settle connects the clients, and creates what stores need.
func (w *world) settle() {
	for n := range w.script.Clients {
		w.clients = append(w.clients, w.dial(n+1, w.script.Timeouts[n%len(w.script.Timeouts)]))
	}
	mkdirs := func(path string) {
		for i := 1; i <= len(path); i++ {
			if i == len(path) || path[i] == '/' {
				_, err := w.Op().Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll))
				if err != zk.ErrNodeExists {
					w.Must(err)
				}
			}
		}
	}
	for _, l := range w.script.Lines {
		for i := 0; l.param("PATH", i) != ""; i++ {
			path := l.param("PATH", i)
			mkdirs(stored(path))
			mkdirs(stored(path + "/" + boss))
			if strings.HasPrefix(path, "/queue/") {
				for _, sub := range []string{"items", "ids", "taken"} {
					mkdirs(path + "/" + sub)
				}
			}
		}
	}
	// On a time that no client has: see line.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
}

// stored returns the path of the znode that stands for the store which path protects.
func stored(path string) string { return "/stored/" + strings.ReplaceAll(path[1:], "/", "-") }

// play does what the script says, until its end, or a violation.
func (w *world) play(began time.Time) {
	for i, l := range w.script.Lines {
		w.agenda = append(w.agenda, due{began.Add(l.At), func() { w.do(int64(i+1), l) }, true})
	}
	end := began.Add(w.script.End)
	for len(w.agenda) > 0 {
		next := w.agenda[0]
		w.agenda = w.agenda[1:]
		if next.at.After(end) {
			next.at = end // a fault that is over with the script
		}
		time.Sleep(time.Until(next.at))
		next.do()
		synctest.Wait()
		if w.violated() {
			end = time.Now() // what is broken is mended
			w.agenda = slices.DeleteFunc(w.agenda, func(e due) bool { return e.line })
		}
	}
	time.Sleep(time.Until(end))
	close(w.over)
}

// do does a line.
func (w *world) do(n int64, l Line) {
	if l.form.fault != nil {
		if l.param("CLIENT", 0) == "" || l.client() <= w.script.Clients {
			l.form.fault(w, l)
		}
		return
	}
	a := &actor{client: w.clients[l.client()], Line: l, ctx: w.ctx, op: n * opsPerLine}
	if l.verb() == "watch" {
		w.views.Go(func() { l.form.op(a) })
		return
	}
	name := l.String()
	w.mu.Lock()
	w.result.Lines++
	w.running[name]++
	w.mu.Unlock()
	w.ops.Go(func() {
		l.form.op(a)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.running[name]--; w.running[name] == 0 {
			delete(w.running, name)
		}
	})
}

// later does something d from now, or at the end of the script if that is earlier.
func (w *world) later(d time.Duration, f func()) {
	at := time.Now().Add(d)
	i, _ := slices.BinarySearchFunc(w.agenda, at, func(e due, at time.Time) int {
		if e.at.After(at) {
			return 1
		}
		return -1
	})
	w.agenda = slices.Insert(w.agenda, i, due{at: at, do: f})
}

func (w *world) nextFault() int64 {
	w.faults++
	return w.faults
}

// violate notes a violation.
func (w *world) violate(rule, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.Violations = append(w.result.Violations, Violation{rule, fmt.Sprintf(format, args...)})
}

func (w *world) violated() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.result.Violations) > 0
}

// fenced writes to the store that path protects, and reports whether it takes the write.
func (w *world) fenced(path string, token coord.Token) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if token < w.fences[path] && !w.plant.NoFence {
		return false
	}
	w.fences[path] = token
	return true
}

// deafness is how long holders that are deaf take to stop.
func (w *world) deafness() {
	if w.plant.Deaf {
		time.Sleep(5 * time.Second)
	}
}

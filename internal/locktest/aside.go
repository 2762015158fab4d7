package locktest

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// aside is the TB of a goroutine that is not the test's: what would end the
// test ends the goroutine.
type aside struct{ testing.TB }

func (a aside) Fatal(args ...any) {
	a.Helper()
	a.Error(args...)
	runtime.Goexit()
}

func (a aside) Fatalf(format string, args ...any) {
	a.Helper()
	a.Errorf(format, args...)
	runtime.Goexit()
}

func (a aside) FailNow() {
	a.Fail()
	runtime.Goexit()
}

// leader returns the leader of e, once it has one.
func leader(tb testing.TB, e *ensemble.Ensemble) *ensemble.Node {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if n := e.Leader(); n != nil {
			return n
		}
	}
	tb.Fatal("no leader after a minute")
	return nil
}

// follower returns a server of e that follows, once there is one.
func follower(tb testing.TB, e *ensemble.Ensemble) *ensemble.Node {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if all := e.Followers(); len(all) > 0 {
			return all[0]
		}
	}
	tb.Fatal("no follower after a minute")
	return nil
}

// bound is d in a bubble, where only what waits takes time, and leaves a real
// server and a busy machine some more: less than the silence after which a
// connection is given up at T.
func (w *World) bound(d time.Duration) time.Duration {
	if w.real != nil {
		return max(d, 2*time.Second)
	}
	return d
}

// dialAs is like Client, with the options given, of which Dial is overwritten.
func (w *World) dialAs(opts *coord.Options) *Client {
	w.Helper()
	if opts.SessionTimeout == 0 {
		opts.SessionTimeout = T
	}
	servers := []string{"coordtest:2181"}
	if w.real != nil {
		servers = w.real.Servers()
	}
	return w.Dial(servers, opts)
}

// Tree shows the lock's directory, for failures.
func (w *World) Tree() string {
	if w.Fake != nil {
		return w.Fake.Tree()
	}
	names, _, err := w.Op().Children(w.Dir)
	return fmt.Sprintf("%s: %q %v", w.Dir, names, err)
}

// inBoth runs table for s in both worlds. As after every scenario, nothing may
// be left.
func inBoth(t *testing.T, s Subject, table []scenario) {
	for _, world := range []struct {
		name string
		in   func(*testing.T, Subject, func(*World))
	}{{"fake", InBubble}, {"real", OnReal}} {
		t.Run(world.name, func(t *testing.T) {
			for _, sc := range table {
				t.Run(sc.name, func(t *testing.T) {
					world.in(t, s, func(w *World) {
						sc.run(w)
						if !w.Failed() {
							w.NothingLeft()
						}
					})
				})
			}
		})
	}
}

// margins are those of all that NoOverlap has run in this process.
var margins tally

// Main wraps the m of TestMain as [ensemble.Main] does, and tells in the end the
// smallest margin by which a holder knew of its loss before the next was
// granted, if any were measured.
func Main(m ensemble.Runner) ensemble.Runner { return reporter{ensemble.Main(m)} }

type reporter struct{ ensemble.Runner }

// Run runs the tests and then reports.
func (r reporter) Run() int {
	code := r.Runner.Run()
	if margins.runs > 0 {
		fmt.Fprintf(os.Stderr, "smallest margin in %d partitions: %v\n", margins.runs, margins.least.Round(time.Millisecond))
	}
	return code
}

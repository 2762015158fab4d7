package ensemble

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"
)

// startTimeout is far above what a start takes on a busy machine.
const startTimeout = time.Minute

// starting is held while servers start for a test: those of several tests at once
// would leave the sessions of others without an answer for seconds.
var starting sync.Mutex

// New starts servers for one test and stops them at its end. Where none can be
// started, it skips the test, or fails it if $REQUIRE_ZOOKEEPER is not empty.
func New(tb testing.TB, opts *Options) *Ensemble {
	tb.Helper()
	require(tb, opts)
	starting.Lock()
	defer starting.Unlock()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	e, err := Start(ctx, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Stop)
	return e
}

// Settled waits until one server leads and all others that run follow it, and returns
// that one. If it takes more than a minute the test fails.
func (e *Ensemble) Settled(tb testing.TB) *Node {
	tb.Helper()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		if n := e.Leader(); n != nil && len(e.Followers()) == len(e.running())-1 {
			return n
		}
	}
	tb.Fatal("no leader whom all others follow after a minute")
	return nil
}

// require ends the test unless servers with these options can be started.
func require(tb testing.TB, opts *Options) {
	tb.Helper()
	err := Available()
	if err == nil && opts.namespaces() {
		err = Separable()
	}
	switch {
	case err == nil:
	case os.Getenv("REQUIRE_ZOOKEEPER") != "":
		tb.Fatalf("REQUIRE_ZOOKEEPER is set, but: %v", err)
	default:
		tb.Skipf("needs a ZooKeeper server: %v", err)
	}
}

// shared is the server of Shared.
var shared struct {
	sync.Mutex
	owned bool // Main's Run is there to stop it
	*Ensemble
}

// Shared returns the one standalone server of this test process, which is
// started at the first call and stopped by [Main], so TestMain must use that.
// It has default options. Its callers keep apart by using paths of their own,
// and leave it running. Like New, it skips or fails where there is no server.
func Shared(tb testing.TB) *Ensemble {
	tb.Helper()
	require(tb, nil)
	shared.Lock()
	defer shared.Unlock()
	if !shared.owned {
		tb.Fatal("ensemble.Shared needs ensemble.Main in TestMain")
	}
	if shared.Ensemble == nil {
		// Not tb's context: the server is not this test's alone.
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		e, err := Start(ctx, nil)
		if err != nil {
			tb.Fatal(err)
		}
		shared.Ensemble = e
	}
	return shared.Ensemble
}

// Runner is a *testing.M, or what wraps one.
type Runner interface{ Run() int }

// Main wraps the m of TestMain with the end of the server of [Shared]. It is
// stopped inside Run, so a check for leaks can go around it:
//
//	os.Exit(ensemble.Main(m).Run())
//	goleak.VerifyTestMain(ensemble.Main(m))
func Main(m Runner) Runner { return owner{m} }

type owner struct{ m Runner }

// Run runs the tests, then stops the shared server if one was started.
func (o owner) Run() int {
	shared.Lock()
	shared.owned = true
	shared.Unlock()
	defer func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.Ensemble != nil {
			shared.Stop()
			shared.Ensemble = nil
		}
	}()
	return o.m.Run()
}

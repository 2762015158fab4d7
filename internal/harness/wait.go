package harness

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

// patience is how long a World waits for what must come. Virtual minutes cost
// nothing, and a real one is more than a busy machine needs.
const patience = 2 * time.Minute

// longPause is the longest between two looks at a real server.
const longPause = 50 * time.Millisecond

// Rest waits, in a bubble, until everything does. On real servers, where there is no
// such moment, it does nothing.
func (w *World) Rest() {
	if w.Fake != nil {
		synctest.Wait()
	}
}

// Wait waits until ch is closed.
func (w *World) Wait(what string, ch <-chan struct{}) {
	w.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
		w.Fatalf("no %s after %v\n%s", what, patience, w.Tree())
	}
}

// Eventually waits until ok is true.
func (w *World) Eventually(what string, ok func() bool) {
	w.Helper()
	w.eventually(what, 5*time.Millisecond, ok)
}

// eventually looks again after each pause. On real servers the pauses grow: a look may
// be a connection of its own and a thread of the server, see [World.Watches], and what
// takes longer than a few milliseconds there takes long.
func (w *World) eventually(what string, pause time.Duration, ok func() bool) {
	w.Helper()
	again := time.NewTimer(pause)
	defer again.Stop()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			w.Fatalf("not after %v: %s\n%s", patience, what, w.Tree())
		}
		<-again.C
		if w.Real != nil {
			pause = max(pause, min(2*pause, longPause))
		}
		again.Reset(pause)
	}
}

// Await waits until c is in state.
func (w *World) Await(c *coord.Client, state coord.State) {
	w.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		now, changed := c.State()
		if now == state {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			w.Fatalf("%v after %v, want %v", now, patience, state)
		}
	}
}

// Flap does what breaks the connection of c for a moment, and waits until it is up
// again. To await Suspended would come too late for a state that lasts no time.
func (w *World) Flap(c *coord.Client, blow func()) {
	w.Helper()
	_, changed := c.State()
	blow()
	w.Wait("end of the connection", changed)
	w.Await(c, coord.Connected)
}

// Down cuts c off, waits until it knows, and returns what brings it back.
func (w *World) Down(c *Client) (up func()) {
	w.Helper()
	heal := c.Link.Cut()
	w.Await(c.Client, coord.Suspended)
	return func() {
		w.Helper()
		heal()
		w.Await(c.Client, coord.Connected)
	}
}

// Within runs f and checks that it takes no longer than d.
func (w *World) Within(d time.Duration, what string, f func()) {
	w.Helper()
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	w.Wait("end of "+what, done)
	if took := time.Since(began); took > d {
		w.Errorf("%s took %v, want %v at most", what, took, d)
	}
}

// Bound is d in a bubble, where only what waits takes time, and leaves a real server
// and a busy machine some more: less than the silence after which a connection is
// given up at T.
func (w *World) Bound(d time.Duration) time.Duration {
	if w.Real != nil {
		return max(d, 2*time.Second)
	}
	return d
}

// IsOpen checks that ch is not closed.
func (w *World) IsOpen(what string, ch <-chan struct{}) {
	w.Helper()
	select {
	case <-ch:
		w.Errorf("%s is closed", what)
	default:
	}
}

// IsClosed checks that ch is closed.
func (w *World) IsClosed(what string, ch <-chan struct{}) {
	w.Helper()
	select {
	case <-ch:
	default:
		w.Errorf("%s is not closed", what)
	}
}

// Ends waits until h has ended, and checks that this was for one of reasons.
func (w *World) Ends(what string, h interface {
	Done() <-chan struct{}
	Err() error
}, reasons ...error) {
	w.Helper()
	w.Wait("end of "+what, h.Done())
	err := h.Err()
	if !slices.ContainsFunc(reasons, func(r error) bool { return errors.Is(err, r) }) {
		w.Errorf("%s ended with %v", what, err)
	}
}

// aside is the TB of a goroutine that is not the test's.
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

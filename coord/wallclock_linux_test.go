package coord_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A step of the wall clock, forward or back, takes nothing that is held. It is tried
// where COORD_TEST_SET_CLOCK says that the clock of the machine may be set, as it
// concerns every program there: it is put right after a moment.
func TestStepOfTheWallClock(t *testing.T) {
	if os.Getenv("COORD_TEST_SET_CLOCK") == "" {
		t.Skip("sets the clock of the machine: only where COORD_TEST_SET_CLOCK is set")
	}
	server, err := coordtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const T = 4 * time.Second
	c, err := coord.Dial(t.Context(), []string{server.Addr()}, &coord.Options{SessionTimeout: T})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, by := range []time.Duration{3 * time.Second, -3 * time.Second, time.Hour} {
		h := c.Kit().NewHold(bg, "hold", "/h", func(k *coord.Keeper) error {
			s, err := c.Kit().Await(k.Context())
			if err == nil {
				err = s.Renew(k.Context(), "/h")
			}
			if err == nil {
				err = k.Acquired(s, "/h", 1)
			}
			if err == nil {
				<-k.Context().Done()
			}
			return err
		})
		if err := h.Wait(); err != nil {
			t.Fatal(err)
		}
		until := h.Until()
		step := func(by time.Duration) {
			tv := syscall.NsecToTimeval(time.Now().Add(by).UnixNano())
			if err := syscall.Settimeofday(&tv); err != nil {
				t.Fatal(err)
			}
		}
		step(by)
		err := h.Err()
		for err == nil && time.Until(until) > 0 { // until a renewal has come since
			time.Sleep(10 * time.Millisecond)
			err = h.Err()
		}
		step(-by)
		if err != nil || h.Err() != nil {
			t.Errorf("a step by %v: %v", by, err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

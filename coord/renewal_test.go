package coord_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// seek is a recipe that asks the server for nothing but a renewal: it is held when
// granted is closed and the lease fresh, until it is released.
func seek(c *coord.Client, granted <-chan struct{}) *coord.Hold {
	return c.Kit().NewHold(bg, "seek", "/sought", func(k *coord.Keeper) error {
		s := c.Kit().Session()
		select {
		case <-granted:
			if err := s.Renew(k.Context(), "/sought"); err != nil {
				return err
			}
			if err := k.Acquired(s, "/sought", 1); err != nil {
				return err
			}
		case <-k.Context().Done():
			return context.Cause(k.Context())
		}
		select {
		case <-k.Released():
			return coord.ErrReleased
		case <-s.Done():
			return s.Err()
		}
	})
}

// now is closed.
var now = func() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// Without a hold nothing depends on the leader, and nothing is asked of it: the
// session lives on heartbeats, even with a server that has no leader.
func TestIdleSessionIsNotRenewed(t *testing.T) {
	bubble(t, func(w *world) {
		const timeout = 6 * time.Second
		l := w.line()
		o := orphanage(l)
		c := w.client(l, coord.Options{SessionTimeout: timeout})
		s := c.Kit().Session()
		o.lose()
		time.Sleep(10 * timeout)
		o.mu.Lock()
		for _, p := range o.frames {
			if p.Op != "connect" && p.Op != "ping" {
				t.Errorf("an idle client and its server say %q", p.Op)
			}
		}
		o.mu.Unlock()
		if n := len(o.passed(coordtest.ToServer, "connect")); n != 1 || s.Err() != nil || c.Kit().Session() != s {
			t.Errorf("%d connections; session %v", n, s.Err())
		}
		if n := len(o.passed(coordtest.ToServer, "ping")); n < 55 {
			t.Errorf("%d heartbeats in ten session timeouts", n)
		}
	})
}

// While something is sought, and nothing held, syncs are no more than T/6 apart.
// While anything is held, renewals are, and no less either: one for the session,
// however much is held in it, and none while other transactions do. With the last
// of it they stop.
func TestRenewalsWhileHeld(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second} {
		bubble(t, func(w *world) {
			l := w.line()
			o := orphanage(l)
			c := w.client(l, coord.Options{SessionTimeout: timeout})
			create(t, c, "/busy", "", 0)
			s := c.Kit().Session()
			var from time.Time
			begin := func() { from = time.Now() }
			// every checks that frames of op have been sent each T/6 since begin.
			every := func(what, op string) {
				t.Helper()
				last, n := from, 0
				for _, at := range append(o.passed(coordtest.ToServer, op), time.Now()) {
					if at.Before(from) {
						continue
					}
					if gap := at.Sub(last); gap > timeout/6+time.Millisecond {
						t.Errorf("T=%v: %s, and no %s for %v", timeout, what, op, gap)
					}
					last = at
					n++
				}
				if most := int(time.Since(from)*6/timeout) + 3; n > most {
					t.Errorf("T=%v: %s, and %d times %s, want %d at most", timeout, what, n, op, most)
				}
			}
			none := func(what string, ops ...string) {
				t.Helper()
				for _, op := range ops {
					for _, at := range o.passed(coordtest.ToServer, op) {
						if !at.Before(from) {
							t.Errorf("T=%v: %s, and %s", timeout, what, op)
							return
						}
					}
				}
			}
			for range 3 {
				time.Sleep(2*timeout + 7*time.Millisecond)
				granted := make(chan struct{})
				begin()
				first := seek(c, granted)
				time.Sleep(5 * timeout)
				every("sought", "sync")
				none("sought", "check")
				close(granted)
				must(t, first.Wait())
				begin()
				time.Sleep(5 * timeout)
				every("held", "check")
				none("held", "sync")
				second := take(c, "/lock", nil)
				must(t, second.Wait())
				begin()
				time.Sleep(5 * timeout)
				every("two are held", "check")
				begin()
				for range 50 {
					set(t, c, "/busy", "")
					time.Sleep(timeout / 10)
				}
				none("held while other transactions are made", "check", "sync")
				must(t, first.Release(bg))
				begin()
				time.Sleep(5 * timeout)
				every("one is still held", "check")
				must(t, second.Release(bg))
				synctest.Wait()
				time.Sleep(timeout / 6) // what is under way
				begin()
				time.Sleep(5 * timeout)
				none("nothing is held", "check", "sync")
			}
			if s.Err() != nil {
				t.Errorf("T=%v: %v", timeout, s.Err())
			}
		})
	}
}

// In a session that has long been idle, so that its lease has run out, something can
// be acquired: what is old ends nothing.
func TestAcquireAfterIdleness(t *testing.T) {
	bubble(t, func(w *world) {
		const timeout = 6 * time.Second
		l := w.line()
		o := orphanage(l)
		c := w.client(l, coord.Options{SessionTimeout: timeout})
		s := c.Kit().Session()
		for i := range 10 {
			time.Sleep(10*timeout + time.Duration(i)*timeout/60)
			h := take(c, "/lock", nil)
			must(t, h.Wait())
			if left := time.Until(h.Until()); left < timeout/2 {
				t.Errorf("acquired, and good for %v", left)
			}
			time.Sleep(3 * timeout)
			if isClosed(h.Lost()) {
				t.Fatal(h.Err())
			}
			must(t, h.Release(bg))

			granted := make(chan struct{})
			time.Sleep(10 * timeout)
			h = seek(c, granted)
			time.Sleep(timeout) // it is renewed meanwhile
			close(granted)
			must(t, h.Wait())
			must(t, h.Release(bg))
		}
		if n := len(o.passed(coordtest.ToServer, "connect")); n != 1 || c.Kit().Session() != s {
			t.Errorf("%d connections; session %v", n, s.Err())
		}
	})
}

// A recipe that asks for nothing, not even a renewal, in a session in which no
// transaction has been carried out for too long, is granted nothing, though
// heartbeats are answered. Nothing else comes of it.
func TestNoGrantWithoutRenewal(t *testing.T) {
	bubble(t, func(w *world) {
		const timeout = 10 * time.Second
		c := w.client(w.line(), coord.Options{SessionTimeout: timeout})
		s := c.Kit().Session()
		time.Sleep(10*timeout + time.Millisecond)
		h := c.Kit().NewHold(bg, "seek", "/sought", func(k *coord.Keeper) error { return k.Acquired(s, "/sought", 1) })
		if err := h.Wait(); !errors.Is(err, coord.ErrExpired) {
			t.Errorf("Wait = %v, want ErrExpired", err)
		}
		<-h.Done()
		if isClosed(h.Acquired()) || isClosed(h.Lost()) || s.Err() != nil {
			t.Errorf("acquired %v, lost %v; session %v", isClosed(h.Acquired()), isClosed(h.Lost()), s.Err())
		}
		must(t, take(c, "/lock", nil).Wait())
	})
}

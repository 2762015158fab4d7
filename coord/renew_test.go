package coord_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A refusal that a server may give by itself moves no lease; one by which the
// ensemble refuses a whole transaction does.
func TestRefusalsRenewNothing(t *testing.T) {
	bubble(t, func(w *world) {
		const timeout = 6 * time.Second
		c := w.client(w.line(), coord.Options{SessionTimeout: timeout})
		conn := c.Conn()
		_, err := conn.Create("/closed", nil, 0, zk.WorldACL(zk.PermRead))
		must(t, err)
		h := take(c, "/lock", nil)
		must(t, h.Wait())
		time.Sleep(timeout/6 + timeout/24) // behind a renewal, and before the next
		until := h.Until()
		if _, err := conn.Set("/closed", nil, -1); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("set: %v", err)
		}
		if err := conn.Delete("/none", -1); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("delete: %v", err)
		}
		if !h.Until().Equal(until) {
			t.Errorf("refusals have moved Until by %v", h.Until().Sub(until))
		}
		if _, err := conn.Multi(&zk.CheckVersionRequest{Path: "/none", Version: -1}); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("multi: %v", err)
		}
		if !h.Until().After(until) {
			t.Error("a refused transaction has not moved Until")
		}
		must(t, h.Release(bg))
	})
}

// A contender that has waited for so long that the lease is no longer fresh renews it
// before it is granted.
func TestRenewBeforeGrant(t *testing.T) {
	bubble(t, func(w *world) {
		const timeout = 6 * time.Second
		l := w.line()
		c := w.client(l, coord.Options{SessionTimeout: timeout})
		s := c.Kit().Session()
		time.Sleep(3 * timeout)
		if s.Renewed() {
			t.Error("renewed without a transaction")
		}
		r := harness.RecordLink(l)
		must(t, s.Renew(bg, "/none"))
		must(t, s.Renew(bg, "/none")) // which it is
		if got := r.Requests(); !slices.Equal(got, []string{"check /none"}) || !s.Renewed() {
			t.Errorf("renewed %v, by %q", s.Renewed(), got)
		}
		// The ctx bounds it, and so does the session.
		time.Sleep(3 * timeout)
		heal := l.Stall(coordtest.ToClient)
		ctx, cancel := context.WithTimeoutCause(bg, time.Second, errors.New("enough"))
		defer cancel()
		if err := s.Renew(ctx, "/none"); err == nil || err.Error() != "enough" {
			t.Errorf("Renew = %v, want ctx's cause", err)
		}
		if err := s.Renew(bg, "/none"); !errors.Is(err, coord.ErrExpired) {
			t.Errorf("Renew = %v, want ErrExpired", err)
		}
		heal()
	})
}

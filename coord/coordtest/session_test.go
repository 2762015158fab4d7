package coordtest_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/jute"
)

func TestExpiry(t *testing.T) {
	for _, tt := range []struct{ after, timeout, want time.Duration }{
		{0, 4 * time.Second, 6 * time.Second}, // on a multiple: the next one
		{1, 4 * time.Second, 6 * time.Second},
		{500 * time.Millisecond, 4 * time.Second, 6 * time.Second},
		{2*time.Second - 1, 4 * time.Second, 6 * time.Second},
		{2 * time.Second, 4 * time.Second, 8 * time.Second},
		{time.Second, 5 * time.Second, 8 * time.Second},
		{time.Second, time.Second, 6 * time.Second},
		{time.Second, time.Hour, 42 * time.Second},
	} {
		bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
			start := time.Now()
			time.Sleep(tt.after)
			r := w.raw()
			r.SetDeadline(time.Time{})
			r.handshake(0, int32(tt.timeout.Milliseconds()), 0, nil)
			r.ask("create", int32(1), jute.OpCreate, "/root/e", []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(1))
			equal(t, "sessions", len(s.Sessions()), 1)
			_, err := r.receive()
			equal(t, "end", err.Error(), "hung up")
			equal(t, fmt.Sprintf("expiry after %v and %v", tt.after, tt.timeout), time.Since(start), tt.want)
			equal(t, "tree", s.Tree(), "/root \"\"\n")
			equal(t, "sessions", len(s.Sessions()), 0)
		})
	}
}

func TestKeepAlive(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		a := w.connect("a", 6*time.Second)
		must(t, a.create("/root/e", nil, zk.FlagEphemeral))
		time.Sleep(time.Hour)
		equal(t, "tree", s.Tree(), fmt.Sprintf("/root \"\"\n/root/e \"\" ephemeral %#x\n", a.SessionID()))

		// Credentials are no sign of life.
		r := w.raw()
		r.SetDeadline(time.Time{})
		r.handshake(0, 4000, 0, nil)
		start := time.Now()
		for time.Since(start) < 20*time.Second && len(s.Sessions()) == 2 {
			r.send(int32(-4), jute.OpAuth, int32(0), "digest", []byte("a:b"))
			if _, err := r.receive(); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
		equal(t, "sessions", len(s.Sessions()), 1)
	})
}

func TestExpire(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		a, b := w.connect("a", long), w.connect("b", long)
		must(t, a.create("/root/e", nil, zk.FlagEphemeral))
		b.watch("e", "/root/e")
		equal(t, "watches", s.Watches(), 1)
		equal(t, "sessions", len(s.Sessions()), 2)
		old := coord.SessionID(a.SessionID())
		s.Expire(old)
		s.Expire(old)
		s.Expire(12345)
		if slices.Contains(s.Sessions(), old) {
			t.Error("the session lives")
		}
		b.saw("expired")
		equal(t, "watches", s.Watches(), 0)
		for coord.SessionID(a.SessionID()) == old || a.State() != zk.StateHasSession {
			time.Sleep(time.Second)
		}
		b.look("/root/e")
		equal(t, "log", w.log.String(), "expired: b saw [\"Deleted /root/e\"]\nget /root/e: zk: node does not exist\n")
	})
}

// TestResumed shows that what is late on a session's old connection has no
// effect once the session has a new one.
func TestResumed(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		old := w.raw()
		old.SetDeadline(time.Time{})
		id, password := old.handshake(0, 10000, 0, nil)
		heal := w.link.Stall(coordtest.ToServer)
		old.create("/root/late")
		synctest.Wait()

		w.link = s.Link()
		defer w.link.Close()
		r := w.raw()
		r.SetDeadline(time.Time{})
		got, _ := r.handshake(0, 10000, id, password)
		equal(t, "session", got, id)
		heal()
		if _, err := old.receive(); err == nil || isTimeout(err) {
			t.Errorf("the old connection: %v", err)
		}
		equal(t, "answered", r.answered(1), true)
		equal(t, "tree", s.Tree(), "/root \"\"\n")
	})
}

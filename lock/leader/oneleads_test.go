package leader_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// Of many candidates at most one leads at any time, and there is always one again, though
// sessions end, operators revoke the lead, and candidates leave and come again. Tokens only
// grow. What is shown in the end is the truth.
func TestOneLeads(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		w := place{hw}
		view := w.watch(w.Client(harness.Long))
		var inside atomic.Int32
		var newest atomic.Int64
		candidate := func(c *harness.Client) (resign func()) {
			ctx, stop := context.WithCancel(bg)
			over := make(chan error, 1)
			go func() {
				over <- w.election(c).Lead(ctx, []byte("value"), func(ctx context.Context, h *coord.Hold) error {
					if inside.Add(1) > 1 {
						w.Error("two lead")
					}
					if t := newest.Swap(int64(h.Token())); t >= int64(h.Token()) {
						w.Errorf("token %#x after %#x", int64(h.Token()), t)
					}
					<-ctx.Done()
					inside.Add(-1)
					return ctx.Err()
				})
			}()
			return func() {
				stop()
				w.Wants(<-over, context.Canceled)
			}
		}
		clients := make([]*harness.Client, 4)
		resign := make([]func(), len(clients))
		for i := range clients {
			clients[i] = w.Client(T)
			resign[i] = candidate(clients[i])
		}
		for n := range harness.Times(60, 600) {
			w.Eventually("one leads", func() bool { return inside.Load() == 1 })
			i := n % len(clients)
			switch n % 5 {
			case 0:
				heal := clients[i].Link.Stall(coordtest.Both)
				time.Sleep(2 * T) // of the bubble: its session is over
				heal()
			case 1:
				clients[i].Link.Reset()
			case 2:
				heal := clients[i].Link.Cut()
				time.Sleep(2 * T)
				heal()
			case 3:
				w.Set(w.Dir+"/"+w.first(), "__REVOKE__")
			case 4:
				resign[i]()
				resign[i] = candidate(clients[i])
			}
			time.Sleep(time.Second)
		}
		w.Eventually("the leader is shown", func() bool {
			v, _ := view.Latest()
			return v.Has && !v.Suspended && int64(v.Leader.Token) == newest.Load() && inside.Load() == 1
		})
		for _, r := range resign {
			r()
		}
		view.sees("nobody")
		w.nothingLeft()
	})
}

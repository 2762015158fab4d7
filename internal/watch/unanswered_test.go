package watch_test

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// throttled is the code by which a server says that it has too much to do.
const throttled jute.Code = -127

// Reads that are not answered are repeated with pauses that grow to a second, of each
// stream by itself. An answer makes the pauses short again, and so does a new connection,
// which is not waited with.
func TestUnansweredReadsAreRepeatedWithPauses(t *testing.T) {
	harness.Bubble(t, func(w *harness.World) {
		var busy atomic.Bool
		var asked atomic.Int32 // in vain
		c := w.DialThrough(func(conn net.Conn) net.Conn {
			return &harness.Tap{Conn: conn, Reply: func(body []byte) []byte {
				if jute.NewDecoder(body).ReplyHeader().Xid < 0 || !busy.Load() {
					return body
				}
				asked.Add(1)
				return harness.Refuse(body, throttled)
			}}
		}, nil, nil)
		during := func(d time.Duration) int {
			asked.Store(0)
			time.Sleep(d)
			return int(asked.Load())
		}
		const n = 8
		path := func(i int) string { return fmt.Sprintf("/a%d", i) }
		var streams []*event.Stream[event.Snapshot]
		busy.Store(true)
		for i := range n {
			w.Create(path(i), "0")
			streams = append(streams, c.Watch(bg, path(i), event.Data))
		}
		all := func(want string) {
			w.Helper()
			w.Rest()
			for i, s := range streams {
				if snap, _ := s.Latest(); string(snap.Data) != want || snap.Suspended {
					w.Errorf("stream %d: %+v, %v; want %q", i, snap, s.Err(), want)
				}
			}
		}
		if got := during(10 * time.Second); got < n*10 || got > n*30 {
			t.Errorf("%d reads of %d streams in 10 s", got, n)
		}
		busy.Store(false)
		time.Sleep(3 * time.Second / 2)
		all("0")

		busy.Store(true)
		for i := range n {
			w.Set(path(i), "1")
		}
		if got := during(50 * time.Millisecond); got < n*3 {
			t.Errorf("%d reads of %d streams in 50 ms, after an answer", got, n)
		}
		time.Sleep(10 * time.Second)
		busy.Store(false)
		w.Flap(c.Client, c.Link.Reset)
		time.Sleep(5 * time.Millisecond)
		all("1")
		if state, _ := c.State(); state != coord.Connected {
			t.Error(state)
		}
	})
}

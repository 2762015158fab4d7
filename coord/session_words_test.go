package coord_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// When a server says that the session has moved, the connection is left and the session
// resumed; when it says that it has expired, it is over. So it is in answers to requests
// of every kind.
func TestSessionWords(t *testing.T) {
	const expired, moved = jute.CodeSessionExpired, jute.CodeSessionMoved
	for _, code := range []jute.Code{expired, moved} {
		for _, sync := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, sync %v", code, sync), func(t *testing.T) {
				bubble(t, func(w *world) {
					l := w.line()
					var inject atomic.Int32
					c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
						conn, err := l.Dial(ctx, network, addr)
						return &harness.Tap{Conn: conn, Reply: func(body []byte) []byte {
							if jute.NewDecoder(body).ReplyHeader().Xid >= 0 {
								if code := jute.Code(inject.Swap(0)); code != jute.OK {
									return harness.Refuse(body, code)
								}
							}
							return body
						}}, err
					}})
					must(t, err)
					defer c.Close()
					s, r := c.Kit().Session(), harness.RecordLink(l)
					h := take(c, "/lock", nil)
					must(t, h.Wait())
					synctest.Wait() // until no sync is under way
					until := h.Until()
					inject.Store(int32(code))
					if sync {
						time.Sleep(s.Timeout() / 5) // none but the next sync
					} else {
						_, err := s.Txn(bg, coord.OpDelete("/none", -1))
						if code == moved && !errors.Is(err, zk.ErrSessionMoved) || code == expired && !errors.Is(err, coord.ErrExpired) {
							t.Errorf("error %v", err)
						}
					}
					w.Await(c, coord.Connected)
					synctest.Wait()
					if code == expired {
						if !errors.Is(s.Err(), coord.ErrExpired) || c.Kit().Session() == s || !isClosed(h.Lost()) {
							t.Errorf("session %v, lost %v", s.Err(), isClosed(h.Lost()))
						}
						if h.Until().After(until) {
							t.Error("by the word that the session has expired, the lease is longer")
						}
						return
					}
					if !slices.Contains(r.Requests(), "connect") {
						t.Error("the connection has not been left")
					}
					time.Sleep(time.Minute)
					if s.Err() != nil || c.Kit().Session() != s || isClosed(h.Lost()) {
						t.Errorf("session %v, lost %v", s.Err(), isClosed(h.Lost()))
					}
					must(t, h.Release(bg))
				})
			})
		}
	}
}

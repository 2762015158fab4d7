package coord_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// A pipe to a server that does not read takes some bytes and then no more: once
// clogged, a Write lasts until the connection is closed.
type pipe struct {
	net.Conn
	clogged *atomic.Bool
	hook    func(op jute.Op) // sees what is written before the pipe is clogged
	once    sync.Once
	closed  chan struct{}
}

func (p *pipe) Write(b []byte) (int, error) {
	if p.clogged.Load() {
		<-p.closed
		return 0, net.ErrClosed
	}
	n, err := p.Conn.Write(b)
	if p.hook != nil {
		p.hook(jute.NewDecoder(b[4:]).RequestHeader().Op)
	}
	return n, err
}

func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Conn.Close()
}

// Close takes at most two seconds of a server that has fallen silent and
// whose connection takes no more bytes, whenever that begins, while requests are
// under way and the program goes on to ask, on the connection itself too, whose
// queue is full. Nothing is left behind: of that the bubble makes sure.
func TestCloseWhenNothingMovesAnyMore(t *testing.T) {
	for _, clogs := range []string{"never", "before", "with the goodbye"} {
		for _, calls := range []int{0, 1, 20} {
			for _, queued := range []int{0, 1, 16, 40} {
				for _, asks := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %d calls, %d queued, asks %v", clogs, calls, queued, asks), func(t *testing.T) {
						bubble(t, func(w *world) {
							var clogged atomic.Bool
							l := w.line()
							c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
								conn, err := l.Dial(ctx, network, addr)
								return &pipe{Conn: conn, clogged: &clogged, closed: make(chan struct{}), hook: func(op jute.Op) {
									if op == jute.OpClose && clogs == "with the goodbye" {
										clogged.Store(true)
									}
								}}, err
							}})
							must(t, err)
							w.Fake.Freeze()
							clogged.Store(clogs == "before")
							var wg sync.WaitGroup
							for range queued {
								wg.Go(func() { c.Conn().Exists("/") })
							}
							synctest.Wait()
							for range calls {
								wg.Go(func() { c.Exists(bg, "/") })
							}
							synctest.Wait()
							closed := make(chan struct{})
							for range 8 {
								wg.Go(func() {
									for asks && !isClosed(closed) {
										c.Conn().Exists("/")
										time.Sleep(10 * time.Millisecond) // virtual
									}
								})
							}
							w.Within(2*time.Second, "Close", func() { must(t, c.Close()) })
							close(closed)
							wg.Wait()
						})
					})
				}
			}
		}
	}
}

// An answer that comes while Close is waiting, or has lost patience, is not taken
// by two at the same time: the race detector makes sure.
func TestAnswerDuringClose(t *testing.T) {
	for _, late := range []time.Duration{0, 500 * time.Millisecond, time.Second, time.Second + 1, 1500 * time.Millisecond, 2 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			for range 10 {
				bubble(t, func(w *world) {
					l := w.line()
					c := w.client(l, coord.Options{})
					heal := l.Stall(coordtest.ToClient)
					var wg sync.WaitGroup
					for i := range 5 {
						wg.Go(func() { c.Create(bg, fmt.Sprintf("/c%d", i), nil, coord.Container) })
					}
					synctest.Wait()
					time.AfterFunc(late, heal)
					w.Within(2*time.Second, "Close", func() { must(t, c.Close()) })
					wg.Wait()
					time.Sleep(3 * time.Second) // virtual: until the answers have come
				})
			}
		})
	}
}

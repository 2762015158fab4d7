package coord_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
)

// A gauges is what a program keeps by the hooks of a [coord.Trace]: its gauges, and what
// it was told of each hold, by the number that the context of its operation carries.
type gauges struct {
	mu                                         sync.Mutex
	waiting, held, suspended, sessions, opened int
	holds                                      map[int]*measured
	errs                                       []string // what must not be
}

// A measured is what became of one hold.
type measured struct {
	said         string
	waited, held time.Duration
	err          error
	id           uint64
}

type number struct{}

func (m *gauges) trace() *coord.Trace {
	m.holds = make(map[int]*measured)
	hold := func(word string, gauge *int, by int) func(context.Context, coord.HoldInfo) {
		return func(ctx context.Context, i coord.HoldInfo) {
			m.mu.Lock()
			defer m.mu.Unlock()
			n, ok := ctx.Value(number{}).(int)
			if !ok || ctx.Err() != nil || ctx.Done() != nil {
				m.errs = append(m.errs, fmt.Sprintf("%s %d: context %v", word, n, ctx))
			}
			if gauge != nil {
				if *gauge += by; *gauge < 0 {
					m.errs = append(m.errs, fmt.Sprintf("%s %d: gauge %d", word, n, *gauge))
				}
			}
			h := m.holds[n]
			if h == nil {
				h = new(measured)
				m.holds[n] = h
			}
			h.said, h.waited, h.held, h.err, h.id = h.said+word+" ", i.Waited(), i.Held(), i.Err, i.ID
		}
	}
	session := func(gauge *int, by int) func(context.Context, coord.SessionInfo) {
		return func(_ context.Context, i coord.SessionInfo) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if *gauge += by; *gauge < 0 || *gauge > 1 || i.ID == 0 || i.Server == "" || i.Begin.IsZero() || i.End.Before(i.Begin) {
				m.errs = append(m.errs, fmt.Sprintf("gauge %d of %+v", *gauge, i))
			}
		}
	}
	return &coord.Trace{
		WaitBegin: hold("asked", &m.waiting, 1), WaitEnd: hold("answered", &m.waiting, -1),
		HoldBegin: hold("held", &m.held, 1), HoldEnd: hold("ended", &m.held, -1),
		HoldDone:     hold("done", nil, 0),
		SessionBegin: session(&m.opened, 1), SessionEnd: session(&m.opened, -1),
		SuspendBegin: session(&m.suspended, 1), SuspendEnd: session(&m.suspended, -1),
		Connected: func(context.Context, coord.SessionInfo) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.sessions = 1
		},
		Expired: session(&m.sessions, -1),
	}
}

// A tried is a hold that was asked for, and what its owner saw of it.
type tried struct {
	*coord.Hold
	cancel               context.CancelFunc
	asked, granted, over time.Time
}

// What is counted by hooks is what happens. A gauge of holds is exact at every
// moment of rest, and never below zero: what was never held does not end. Each hold
// is waited for once, and its times are those that its owner sees.
func TestTraceIsExact(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(w *world) {
				rnd := rand.New(rand.NewPCG(seed, 0))
				var clients []*coord.Client
				var links []*coordtest.Link
				ms := make([]gauges, 3)
				for i := range ms {
					links = append(links, w.line())
					clients = append(clients, w.client(links[i], coord.Options{Trace: ms[i].trace()}))
				}
				all := make([][]*tried, len(ms))
				for range 150 {
					i := rnd.IntN(len(ms))
					switch rnd.IntN(10) {
					case 0, 1, 2, 3:
						m := lock.New(clients[i], fmt.Sprint("/lock", rnd.IntN(2)))
						all[i] = append(all[i], try(w, m, len(all[i]), rnd.IntN(3) == 0))
					case 4, 5:
						if h := pick(rnd, all[i]); h != nil {
							go h.Release(bg)
						}
					case 6:
						if h := pick(rnd, all[i]); h != nil {
							h.cancel()
						}
					case 7:
						if rnd.IntN(2) == 0 {
							time.AfterFunc(time.Duration(rnd.IntN(20))*time.Second, links[i].Cut())
						}
					case 8:
						if rnd.IntN(3) == 0 {
							w.Fake.Expire(clients[i].Kit().Session().ID())
						}
					default:
						time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
					}
					if rnd.IntN(4) == 0 {
						rest(t, ms, all)
						for i, c := range clients {
							ms[i].connected(t, c)
						}
					}
				}
				for _, c := range clients {
					c.Close()
				}
				rest(t, ms, all)
				for i := range ms {
					ms[i].connected(t, clients[i])
					ms[i].compare(t, all[i])
				}
			})
		})
	}
}

// connected compares the gauge of connected clients with the truth, when nothing moves.
// That is zero after Close.
func (m *gauges) connected(t *testing.T, c *coord.Client) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	state, _ := c.State()
	if connected := m.opened - m.suspended; connected != 0 && connected != 1 || (connected == 1) != (state == coord.Connected) {
		t.Errorf("gauges say %d sessions, %d suspended; the client is %v", m.opened, m.suspended, state)
	}
}

func try(w *world, m *lock.Mutex, n int, once bool) *tried {
	ctx, cancel := context.WithCancel(context.WithValue(bg, number{}, n))
	w.Cleanup(cancel)
	h := &tried{cancel: cancel, asked: time.Now()}
	if once {
		h.Hold = m.TryAcquire(ctx)
	} else {
		h.Hold = m.Acquire(ctx)
	}
	over := h.Context(bg)
	context.AfterFunc(over, func() { h.over = time.Now() })
	go func() {
		select {
		case <-h.Acquired():
			h.granted = time.Now()
		case <-over.Done():
		}
	}()
	return h
}

func pick(rnd *rand.Rand, hs []*tried) *tried {
	if len(hs) == 0 {
		return nil
	}
	return hs[rnd.IntN(len(hs))]
}

// rest compares the gauges with the truth, when nothing moves.
func rest(t *testing.T, ms []gauges, all [][]*tried) {
	t.Helper()
	for _, hs := range all {
		for _, h := range hs {
			_ = h.Err() // looks at the clock
		}
	}
	synctest.Wait()
	for i := range ms {
		var waiting, held int
		for _, h := range all[i] {
			switch {
			case h.Err() != nil:
			case isClosed(h.Acquired()):
				held++
			default:
				waiting++
			}
		}
		m := &ms[i]
		m.mu.Lock()
		if m.waiting != waiting || m.held != held {
			t.Errorf("gauges say %d waiting, %d held; there are %d and %d", m.waiting, m.held, waiting, held)
		}
		m.mu.Unlock()
	}
}

// compare compares what was told of each hold with what its owner saw.
func (m *gauges) compare(t *testing.T, hs []*tried) {
	for _, err := range m.errs {
		t.Error(err)
	}
	if m.suspended != 0 || len(m.holds) != len(hs) {
		t.Errorf("%d suspensions have not ended; told of %d holds out of %d", m.suspended, len(m.holds), len(hs))
	}
	for n, h := range hs {
		got, want := m.holds[n], measured{said: "asked answered done ", waited: h.over.Sub(h.asked)}
		if isClosed(h.Acquired()) {
			want = measured{"asked answered held ended done ", h.granted.Sub(h.asked), h.over.Sub(h.granted), nil, 0}
		}
		if got == nil || got.said != want.said || got.waited != want.waited || got.held != want.held || got.err != errors.Unwrap(h.Err()) || got.id != h.ID() {
			t.Errorf("hold %d: told %+v, saw %+v, and %v", n, got, want, h.Err())
		}
	}
}

// Hooks and log handlers may do with the client what they like. One that closes it
// is not waited for by its own Close, though by that of anybody else.
func TestHooksUseTheClient(t *testing.T) {
	var c *coord.Client
	acquire := func(t *testing.T) {
		h := lock.New(c, "/hook").Acquire(bg)
		must(t, h.Wait())
		must(t, h.Release(bg))
	}
	for name, use := range map[string]func(*testing.T){
		"acquire":           acquire,
		"close":             func(t *testing.T) { must(t, c.Close()) },
		"acquire and close": func(t *testing.T) { acquire(t); must(t, c.Close()); must(t, c.Close()) },
		"close while another does": func(t *testing.T) {
			go c.Close()
			synctest.Wait()
			must(t, c.Close())
		},
	} {
		for _, hook := range []string{"hook", "handler"} {
			t.Run(name+" in a "+hook, func(t *testing.T) {
				bubble(t, func(w *world) {
					var once sync.Once
					used := make(chan struct{})
					f := func() {
						once.Do(func() {
							start := time.Now()
							use(t)
							if took := time.Since(start); took > soon {
								t.Errorf("it took %v", took)
							}
							close(used)
						})
					}
					o := coord.Options{Trace: &coord.Trace{HoldEnd: func(context.Context, coord.HoldInfo) { f() }}}
					if hook == "handler" {
						o = coord.Options{Logger: slog.New(slog.NewTextHandler(writer(func(line string) {
							if strings.Contains(line, "hold done") {
								f()
							}
						}), &slog.HandlerOptions{Level: slog.LevelDebug}))}
					}
					c = w.client(w.line(), o)
					acquire(t)
					<-used
					w.Within(soon, "Close", func() { must(t, c.Close()) })
				})
			})
		}
	}
}

type writer func(string)

func (w writer) Write(b []byte) (int, error) {
	w(string(b))
	return len(b), nil
}

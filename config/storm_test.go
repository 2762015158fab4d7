package config_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A storm has every line to a server lose requests and answers, and break.
type storm struct {
	testing.TB
	mu     sync.Mutex
	random *rand.Rand
	lost   map[string]int
}

func newStorm(t testing.TB) *storm {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return &storm{TB: t, random: rand.New(rand.NewPCG(seed, 0)), lost: make(map[string]int)}
}

// on lets the storm loose on l.
func (s *storm) on(l *coordtest.Link) {
	l.OnFrame(func(f coordtest.Frame) coordtest.Action {
		s.mu.Lock()
		defer s.mu.Unlock()
		if f.N == 0 || f.Op == "connect" || s.random.IntN(15) > 0 {
			return coordtest.Pass
		}
		switch what := s.random.IntN(4); {
		case what == 0:
			s.lost["cut"]++
			heal := l.Cut()
			time.AfterFunc(time.Duration(s.random.IntN(20))*time.Millisecond, heal)
			return coordtest.Pass
		case what == 1:
			s.lost["cut behind"]++
			return coordtest.PassAndHangUp
		case f.Dir == coordtest.ToServer:
			s.lost["request of "+f.Op]++
		default:
			s.lost["answer to "+f.Op]++
		}
		return coordtest.HangUp
	})
}

// increments has 8 clients increment /counter rounds times each, and checks that
// each counts exactly once, though none knows what becomes of its requests.
func (s *storm) increments(w *harness.World, rounds int) {
	const clients = 8
	path := w.Dir + "/counter"
	var all sync.WaitGroup
	began := time.Now()
	var links []*coordtest.Link
	for range clients {
		c := w.Dial(nil, nil)
		links = append(links, c.Link)
		s.on(c.Link)
		all.Go(func() {
			last := 0
			for range rounds {
				n, err := add(bg, c.Client, path)
				if err != nil {
					s.Errorf("increment: %v", err)
					return
				}
				if n <= last {
					s.Errorf("increment returned %d after %d", n, last)
				}
				last = n
			}
		})
	}
	all.Wait()
	for _, l := range links {
		l.OnFrame(nil)
	}
	u, err := config.New(w.Operator().Client, path, numbers).Read(bg)
	if err != nil || u.Value != clients*rounds {
		s.Errorf("counted %d of %d, %v", u.Value, clients*rounds, err)
	}
	s.Logf("%d increments in %v; lost %v", u.Value, time.Since(began).Round(time.Millisecond), s.lost)
}

// TestExactCount: increments by several clients under connection losses and lost
// answers are counted exactly, without an error. (R60, R63.)
func TestExactCount(t *testing.T) {
	rounds := harness.Times(15, 1000)
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		in(t, func(w *harness.World) { newStorm(w).increments(w, rounds) })
	})
}

// TestExactCountAcrossSessions: when sessions end, too, while answers are due, the
// count is exact, and nobody is left in doubt. (R91.)
func TestExactCountAcrossSessions(t *testing.T) {
	rounds := harness.Times(15, 1000)
	harness.Bubble(t, func(w *harness.World) {
		s := newStorm(w)
		var mu sync.Mutex
		var sum tally
		var all sync.WaitGroup
		for range 8 {
			c := w.Client(T)
			l := c.Link
			all.Go(func() {
				for i := range rounds {
					switch i % 4 {
					case 0:
						s.on(l)
					case 1:
						dir := []coordtest.Direction{coordtest.ToServer, coordtest.ToClient}[i/4%2]
						met := false
						l.OnFrame(func(f coordtest.Frame) coordtest.Action {
							if met || f.Op != "multi" || f.Dir != dir {
								return coordtest.Pass
							}
							met = true
							if i%16 == 1 {
								time.AfterFunc(2*T, l.Stall(dir))
								return coordtest.Pass
							}
							w.Expire(c)
							return coordtest.HangUp
						})
					}
					_, err := add(bg, c.Client, "/counter")
					mu.Lock()
					sum.count(w, err, coord.ErrExpired)
					mu.Unlock()
				}
				l.OnFrame(nil)
			})
		}
		all.Wait()
		time.Sleep(3 * T) // of the bubble: what is under way is over
		u, err := config.New(w.Operator().Client, "/counter", numbers).Read(bg)
		if err != nil || u.Value != sum.ok || sum.unknown > 0 {
			t.Errorf("counted %d, %+v, %v", u.Value, sum, err)
		}
	})
}

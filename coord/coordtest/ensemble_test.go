package coordtest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// knows returns which of the znodes below /root c sees.
func knows(t *testing.T, c *coord.Client) string {
	t.Helper()
	names, _, err := c.Conn().Children("/root")
	must(t, err)
	slices.Sort(names)
	return strings.Join(names, " ")
}

// Servers that lag do so each for itself, and catch up each for itself, also if an
// election has come between.
func TestLagsOfSeveral(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		op := s.Client(t, nil)
		one, two := s.Client(t, nil, "one:2181"), s.Client(t, nil, "two:2181")
		at := func(what, current, first, second string) {
			t.Helper()
			equal(t, what+": current", knows(t, op), current)
			equal(t, what+": one", knows(t, one), first)
			equal(t, what+": two", knows(t, two), second)
		}
		add := func(name string) { must(t, ephemeral(op, "/root/"+name)) }
		add("a")
		healOne := s.Lag("one:2181")
		add("b")
		healTwo := s.Lag("two:2181")
		add("c")
		at("both lag", "a b c", "a", "a b")
		more := s.Lag("one:2181")
		healOne()
		healOne()
		at("one lags twice", "a b c", "a", "a b")
		healTwo()
		add("d")
		at("two has caught up", "a b c d", "a", "a b c d")

		heal := s.Isolate("leader:2181")
		connected(t, op, one, two)
		at("elected", "a b c d", "a b c d", "a b c d")
		add("e")
		at("it lags again", "a b c d e", "a b c d", "a b c d e")
		heal()
		s.Expire(op.Kit().Session().ID())
		equal(t, "who lags sees a session that is over", knows(t, one), "a b c d")
		more()
		equal(t, "caught up", knows(t, one), "")
	})
}

// connected waits until these clients have lost their connections and have others.
func connected(t *testing.T, clients ...*coord.Client) {
	t.Helper()
	time.Sleep(time.Second)
	for _, c := range clients {
		if _, err := c.Kit().Await(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Watches at a server that lags fire when it gets to what they watch for, in order, and
// stay armed beyond. A frozen server catches up at the thaw.
func TestWatchesOfALaggard(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		op, c := s.Client(t, nil), s.Client(t, nil, "follower:2181")
		seen := c.Watch(t.Context(), "/root/n", event.Data)
		if snap := <-seen.Updates(); snap.Exists {
			t.Fatalf("at first %+v", snap)
		}
		count := s.Watches()
		heal := s.Lag("follower:2181")
		equal(t, "watches", s.Watches(), count)
		_, err := op.Conn().Create("/root/n", []byte("1"), 0, open)
		must(t, err)
		_, err = op.Conn().Set("/root/n", []byte("2"), -1)
		must(t, err)
		time.Sleep(time.Minute)
		select {
		case snap := <-seen.Updates():
			t.Errorf("heard of %+v", snap)
		default:
		}
		thaw := s.Freeze()
		heal()
		synctest.Wait()
		equal(t, "events while frozen", len(seen.Updates()), 0)
		thaw()
		if snap := <-seen.Updates(); string(snap.Data) != "2" {
			t.Errorf("healed: %+v", snap)
		}
		_, err = op.Conn().Set("/root/n", []byte("3"), -1)
		must(t, err)
		if snap := <-seen.Updates(); string(snap.Data) != "3" {
			t.Errorf("later: %+v", snap)
		}
	})
}

// While nobody leads nobody is served and no session ends, however long that is. Then
// every session has its timeout, from that moment on.
func TestLeaderless(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		const T = 10 * time.Second
		c, gone := w.raw(), w.raw()
		for _, r := range []*raw{c, gone} {
			r.SetDeadline(time.Time{})
			r.handshake(0, int32(T.Milliseconds()), 0, nil)
		}
		c.ask("ephemeral", int32(1), jute.OpCreate, "/root/e", []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(1))
		ids := s.Sessions()
		heal, again := s.Leaderless(), s.Leaderless()
		w.log.Reset()
		c.expect("the connection")
		late := w.raw()
		late.SetDeadline(time.Time{})
		late.handshake(0, 4000, 0, nil)
		equal(t, "without a leader", w.log.String(), "the connection: hung up\nconnect: hung up\n")

		s.Expire(ids[1])
		s.Reap()
		time.Sleep(time.Hour)
		again()
		again()
		time.Sleep(time.Hour)
		equal(t, "sessions", len(s.Sessions()), 2)
		elected := time.Now()
		heal()
		heal()
		equal(t, "sessions, elected", fmt.Sprint(s.Sessions()), fmt.Sprint(ids[:1]))
		equal(t, "tree", strings.Contains(s.Tree(), "/root/e"), true)
		for len(s.Sessions()) > 0 {
			time.Sleep(time.Second)
		}
		if d := time.Since(elected); d < T || d > T+3*time.Second {
			t.Errorf("the session lives %v after the election", d)
		}
		p := w.connect("p", T)
		must(t, p.create("/root/n", nil, 0))
		w.log.Reset()
		p.look("/root/n")
		if !strings.Contains(w.log.String(), "c+1 epoch") {
			t.Errorf("a transaction after the election: %s", w.log.String())
		}
	})
}

// An isolated leader goes on while the others have none, and its clients are not expired
// meanwhile by anybody but it.
func TestLeaderlessBesideAnIsolatedLeader(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		c := s.Client(t, nil, "leader:2181")
		heal := s.Isolate("leader:2181")
		elected := s.Leaderless()
		time.Sleep(time.Minute)
		if _, _, err := c.Conn().Exists("/root"); err != nil {
			t.Errorf("the isolated leader: %v", err)
		}
		equal(t, "sessions", slices.Contains(s.Sessions(), c.Kit().Session().ID()), true)
		elected()
		heal()
		connected(t, c)
		must(t, ephemeral(c, "/root/later"))
	})
}

// What no ensemble can do fails the test.
func TestContradictions(t *testing.T) {
	for what, run := range map[string]func(s *coordtest.Server){
		"lags, so it does not lead": func(s *coordtest.Server) { s.Lag("a:1"); s.Isolate("a:1") },
		"isolated leader already":   func(s *coordtest.Server) { s.Isolate("a:1"); s.Isolate("b:1") },
		"is isolated":               func(s *coordtest.Server) { s.Isolate("a:1"); s.Lag("a:1") },
		"no leader to be isolated":  func(s *coordtest.Server) { s.Leaderless(); s.Isolate("a:1") },
	} {
		tb := &complaints{TB: t}
		run(coordtest.NewServer(tb))
		if !strings.Contains(tb.text, what) {
			t.Errorf("%q, want %q", tb.text, what)
		}
	}
}

// complaints keeps what would end a test.
type complaints struct {
	testing.TB
	text string
}

func (c *complaints) Fatalf(format string, args ...any) { c.text += fmt.Sprintf(format, args...) }

// What arrives at one instant is executed in the order of the Links, however the
// goroutines of the clients are scheduled.
func TestOrdered(t *testing.T) {
	const clients, rounds = 20, 5
	order := func() (tree string) {
		synctest.Test(t, func(t *testing.T) {
			s := coordtest.NewServer(t)
			s.Ordered()
			var links []*coordtest.Link
			for range clients {
				l := s.Link()
				t.Cleanup(l.Close)
				links = append(links, l)
			}
			op := newWorld(t, s.Dial, "/root")
			var wg sync.WaitGroup
			var log sync.Mutex
			for _, i := range rand.Perm(clients) {
				wg.Go(func() {
					conn, err := links[i].Dial(t.Context(), "tcp", "")
					log.Lock()
					must(t, err)
					r := &raw{conn, op}
					log.Unlock()
					defer conn.Close()
					r.send(int32(0), int64(0), int32(40000), int64(0), make([]byte, 16))
					_, _ = r.receive()
					for n := range rounds {
						r.send(int32(n), jute.OpCreate, fmt.Sprintf("/root/%02d-", i), []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(zk.FlagEphemeral|zk.FlagSequence))
						_, _ = r.receive()
					}
				})
			}
			wg.Wait()
			tree = s.Tree()
		})
		return tree
	}
	first := order()
	for i := range clients {
		for n := range rounds {
			if name := fmt.Sprintf("/root/%02d-%010d ", i, n*clients+i); !strings.Contains(first, name) {
				t.Fatalf("no %s in\n%s", name, first)
			}
		}
	}
	for range 5 {
		equal(t, "another run", order(), first)
	}
}

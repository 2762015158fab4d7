//go:build linux

package chaos

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/history"
)

func TestMain(m *testing.M) {
	Main() // in a client process
	goleak.VerifyTestMain(harness.Main(m))
}

// The short form shows all parts together: a leader is killed and the next one isolated, a
// client is killed and comes back, holders are stopped and write too late; then everybody
// proceeds, everything converges, and nothing is left.
func TestShort(t *testing.T) {
	t.Parallel()
	if err := errors.Join(ensemble.Available(), ensemble.Separable()); err != nil {
		if os.Getenv("REQUIRE_ZOOKEEPER") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := cmp.Or(os.Getenv("ZKCOORD_CHAOS_DIR"), t.TempDir()) // to keep what was recorded
	var table strings.Builder
	r, err := Run(t.Context(), Options{Nodes: 3, Clients: 8, Seed: 1, Dir: dir, Short: true, Timeout: 2 * time.Second, Logf: t.Logf})
	if err != nil {
		t.Error(err)
	}
	_ = r.Write(&table)
	t.Log(table.String())
	for _, v := range r.Violations() {
		t.Error(v)
	}
	if missing := r.Missing(); missing != "" {
		t.Error("not shown: ", missing)
	}
}

// The store takes what has the token of the last write or a greater one, for each path.
func TestStore(t *testing.T) {
	s := &store{cells: make(map[string]cell)}
	for _, tt := range []struct {
		path  string
		token coord.Token
		want  bool
	}{{"/a", 5, true}, {"/a", 5, true}, {"/a", 4, false}, {"/b", 1, true}, {"/a", 7, true}, {"/a", 5, false}} {
		if got := s.take(write{tt.path, tt.token, "p"}, time.Now()); got != tt.want {
			t.Errorf("a write to %s with the token %d is taken: %t", tt.path, tt.token, got)
		}
	}
	if got := s.latest("/a").Token; got != 7 {
		t.Errorf("the last token is %d", got)
	}
}

// What a stopped holder writes after the next is a violation if it passes, and counted if
// it is refused; what it wrote before it was stopped is neither.
func TestWoken(t *testing.T) {
	events := []history.Event{
		{At: 1, Proc: "p", Kind: history.Call, Op: 1, F: history.Fenced, Token: 7},
		{At: 2, Proc: "p", Kind: history.OK, Op: 1, F: history.Fenced, Token: 7},
		{At: 11, Proc: "p", Kind: history.Call, Op: 2, F: history.Fenced, Token: 7},
		{At: 12, Proc: "p", Kind: history.Refused, Op: 2, F: history.Fenced, Token: 7},
		{At: 13, Proc: "p", Kind: history.Call, Op: 3, F: history.Guarded, Token: 7},
		{At: 14, Proc: "p", Kind: history.OK, Op: 3, F: history.Guarded, Token: 7},
	}
	r := &Result{halts: []halt{{"p", 7, 10, true}}}
	r.woken(events)
	// One passed by its guard, and so none was refused by that.
	if len(r.violations) != 2 || r.Refused["token"] != 1 || r.Refused["guard"] != 0 {
		t.Errorf("violations %v, refused %v", r.violations, r.Refused)
	}
	r = &Result{halts: []halt{{"p", 7, 10, false}}}
	r.woken(events)
	if len(r.violations) != 0 || r.Refused["token"] != 0 {
		t.Errorf("nobody else had written: violations %v, refused %v", r.violations, r.Refused)
	}
}

// An item that was put is there once; one that may have been put is there once or not.
func TestItems(t *testing.T) {
	r := &Result{queued: map[string]int{"once": 1, "twice": 2, "perhaps": 1}}
	var events []history.Event
	for _, id := range []string{"once", "twice", "gone"} {
		events = append(events, history.Event{Kind: history.OK, F: history.Put, Value: id})
	}
	events = append(events, history.Event{Kind: history.Unknown, F: history.Put, Value: "perhaps"},
		history.Event{Kind: history.Unknown, F: history.Put, Value: "not"})
	r.items(events)
	if len(r.violations) != 2 || !strings.Contains(r.violations[0].Text, "twice") || !strings.Contains(r.violations[1].Text, "gone") {
		t.Errorf("violations %v", r.violations)
	}
}

// The order of the blows comes from the seed, each hand has its own, and none is left out.
func TestBlows(t *testing.T) {
	order := func(name string, seed uint64) (struck []int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var deck []blow
		for i := range 6 {
			deck = append(deck, blow{"", func(*track) error { struck = append(struck, i); return nil }})
		}
		recovered := 0
		err := (&nemesis{ctx: ctx}).track(name, seed).blows(deck, func() error {
			if recovered++; recovered == 2*len(deck) {
				cancel()
			}
			return nil
		})
		if err != nil || len(struck) != 2*len(deck) {
			t.Errorf("%v, blows %v", err, struck)
		}
		for i := range deck {
			if !slices.Contains(struck[:len(deck)], i) || !slices.Contains(struck[len(deck):], i) {
				t.Errorf("blow %d is left out of a round of %v", i, struck)
			}
		}
		return struck
	}
	first := order("servers", 1)
	if again := order("servers", 1); !slices.Equal(first, again) {
		t.Errorf("blows %v and %v with the same seed", first, again)
	}
	if slices.Equal(first, order("clients", 1)) || slices.Equal(first, order("servers", 2)) {
		t.Errorf("blows %v whatever the seed", first)
	}
}

// Every role has enough actors for what they share, however few processes there are.
func TestRoles(t *testing.T) {
	for _, clients := range []int{6, 8, 20, 40} {
		n := make(map[role]int)
		for id := range clients {
			for _, r := range roles(id, clients) {
				n[r]++
			}
		}
		for _, r := range []role{locker, unqueuer, sharer, leads, permit, pair, enters, member, modifies, counts, works} {
			if n[r] < parties {
				t.Errorf("of %d processes %d are %s", clients, n[r], r)
			}
		}
		if n[sleeper] != sleepers || n[views] == 0 || n[follows] == 0 || n[sees] == 0 {
			t.Errorf("of %d processes: %v", clients, n)
		}
	}
}

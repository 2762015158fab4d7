package coord

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// Each client goes round all servers, in an order of its own, and says of each what is
// wrong with it.
func TestServerList(t *testing.T) {
	given := []string{"a:1", "b:1", "c:1"}
	firsts := map[string]int{}
	for range 300 {
		l := newServerList(newServerSource(given, new(Options)))
		pick := func() string {
			s, err := l.pick(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s.addr
		}
		var round []string
		for range given {
			round = append(round, pick())
		}
		firsts[round[0]]++
		if again := pick(); again != round[0] {
			t.Fatalf("after %q comes %q", round, again)
		}
		slices.Sort(round)
		if !slices.Equal(round, given) {
			t.Fatalf("a round is %q", round)
		}
	}
	if len(firsts) != 3 || !slices.IsSorted(given) {
		t.Errorf("clients begin with %v; given %q", firsts, given)
	}

	// A first chance for each at once; then longer and longer, within bounds;
	// then, once a server has answered, at once again.
	l := newServerList(newServerSource(given, new(Options)))
	for range 2 {
		for i := range 60 {
			d := l.pause(time.Second)
			switch round := i / 3; {
			case round == 0 && d != 0, round > 0 && (d < 5*time.Millisecond || d > 1500*time.Millisecond), round > 10 && d < 500*time.Millisecond:
				t.Errorf("attempt %d after %v", i, d)
			}
		}
		l.lasted()
	}
	b, c := server{"b:1", "b:1"}, server{"c:1", "c:1"}
	l.dialing(b)
	l.failed(c, errors.New("broken"))
	l.dialing(c) // what is known stays
	if got, want := l.report().Error(), "a:1: not tried; b:1: no answer yet; c:1: broken"; got != want {
		t.Errorf("report %q, want %q", got, want)
	}
}

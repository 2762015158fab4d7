package coord

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// What a session timeout is divided into must fit: a heartbeat may be missed
// before the server is given up, another server has its chance within the lease,
// and the lease ends before 2T/3, the earliest moment at which an ensemble may
// end the session.
func TestTerm(t *testing.T) {
	for _, T := range []time.Duration{minTimeout, 4 * time.Second, 10 * time.Second, 40 * time.Second, maxTimeout} {
		c := term(T)
		if c.lease() > T*2/3*97/100 || c.lease() < T*6/10 {
			t.Errorf("T=%v: lease %v", T, c.lease())
		}
		if c.silence() < 2*c.heartbeat()-time.Nanosecond || c.silence()+2*c.greeting(0) >= c.lease() {
			t.Errorf("T=%v: heartbeat %v, silence %v, greeting %v, lease %v", T, c.heartbeat(), c.silence(), c.greeting(0), c.lease())
		}
	}
}

func TestAddresses(t *testing.T) {
	for server, want := range map[string]string{
		"zk1": "zk1:2181", "zk1:2182": "zk1:2182", "10.0.0.1": "10.0.0.1:2181", "10.0.0.1:1": "10.0.0.1:1",
		"::1": "[::1]:2181", "[::1]": "[::1]:2181", "[::1]:2182": "[::1]:2182", "fe80::1": "[fe80::1]:2181", "zk.example.com": "zk.example.com:2181",
	} {
		if got, err := addresses([]string{server}); err != nil || got[0] != want {
			t.Errorf("addresses(%q) = %v, %v; want %q", server, got, err, want)
		}
	}
	for _, server := range []string{"", ":1", "a:", "a:b", "a:0", "a:65536", "a:-1", "a:1:2", "[::1]:x", "[]", "a,b", "a/b", "a b", "[::1]x"} {
		if got, err := addresses([]string{"good", server}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", server)) {
			t.Errorf("addresses(%q) = %v, %v; want an error that names it", server, got, err)
		}
	}
}

func TestRing(t *testing.T) {
	given := []string{"a:1", "b:1", "c:1"}
	firsts := map[string]int{}
	for range 300 {
		r := newRing(given)
		var round []string
		for range given {
			round = append(round, r.turn())
		}
		firsts[round[0]]++
		if again := r.turn(); again != round[0] {
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
	r := newRing(given)
	for range 2 {
		for i := range 60 {
			d := r.pause(time.Second)
			switch round := i / 3; {
			case round == 0 && d != 0, round > 0 && (d < 5*time.Millisecond || d > 1500*time.Millisecond), round > 10 && d < 500*time.Millisecond:
				t.Errorf("attempt %d after %v", i, d)
			}
		}
		r.lasted()
	}
	r.trying("b:1")
	r.failed("c:1", errors.New("broken"))
	r.trying("c:1") // what is known stays
	if got, want := r.report().Error(), "a:1: not tried; b:1: no answer yet; c:1: broken"; got != want {
		t.Errorf("report %q, want %q", got, want)
	}
}

func TestRefused(t *testing.T) {
	for _, err := range append(answers[:len(answers):len(answers)], errors.New("unknown error: -6"), fmt.Errorf("wrapped: %w", zk.ErrNoNode),
		&refusal{"", errors.New("unknown error: -19")}, ErrTooLarge, ErrInvalidPath, &Error{"set", "/", ErrQuotaExceeded}) {
		if !Refused(err) {
			t.Errorf("%v is not taken for an answer", err)
		}
	}
	for _, err := range []error{nil, zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrClosing, zk.ErrSessionExpired, zk.ErrSessionMoved, ErrExpired, ErrClosed, errors.New("broken pipe"), errSilent,
		errors.New("unknown error: -5"), errors.New("unknown error: -127"), errors.New("unknown error: -66"), errors.New("unknown error: 6")} {
		if Refused(err) {
			t.Errorf("%v is taken for an answer", err)
		}
	}
}

func TestStateString(t *testing.T) {
	if got, want := fmt.Sprint(Connecting, Connected, Suspended, Expired, Closed, State(9)), "connecting connected suspended expired closed State(9)"; got != want {
		t.Errorf("states are %q, want %q", got, want)
	}
}

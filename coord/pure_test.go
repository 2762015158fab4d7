package coord

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
)

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

func TestRefused(t *testing.T) {
	for _, err := range append(answers[:len(answers):len(answers)], errors.New("unknown error: -6"), fmt.Errorf("wrapped: %w", zk.ErrNoNode),
		&refusal{"", errors.New("unknown error: -19")}, ErrTooLarge, ErrInvalidPath, &Error{"set", "/", ErrQuotaExceeded}) {
		if !refused(err) {
			t.Errorf("%v is not taken for an answer", err)
		}
	}
	for _, err := range []error{nil, zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrClosing, zk.ErrSessionExpired, zk.ErrSessionMoved, ErrExpired, ErrClosed, errors.New("broken pipe"), errSilent,
		errors.New("unknown error: -5"), errors.New("unknown error: -127"), errors.New("unknown error: -66"), zk.ErrShortBuffer, errors.New("unknown error: 6")} {
		if refused(err) {
			t.Errorf("%v is taken for an answer", err)
		}
	}
}

func TestStateString(t *testing.T) {
	if got, want := fmt.Sprint(Connecting, Connected, Suspended, Expired, Closed, State(9)), "connecting connected suspended expired closed State(9)"; got != want {
		t.Errorf("states are %q, want %q", got, want)
	}
}

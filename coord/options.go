package coord

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// Options adjusts a [Client]. A nil *Options is ready for use.
type Options struct {
	// SessionTimeout is how long the ensemble keeps a session that it does not
	// hear from. The ensemble imposes bounds of its own, commonly 2 to 20 of its
	// ticks, 4 s to 40 s; one that is set to grant less than two ticks cannot be
	// relied on, for its servers speak of their clients only each half tick. Zero
	// means 10 s; less than 100 ms is refused.
	//
	// A hold is lost when for 0.64 of the timeout no transaction of the session
	// has been carried out. While something is held, and the program writes
	// nothing, the client makes a transaction that changes nothing each sixth of
	// the timeout: one for the session, whatever it holds. So 1,000 idle clients
	// with holds and 10 s cost the ensemble 600 writes to its logs a second, with
	// 30 s 200. Clients that hold nothing cost none.
	//
	// Answers come one after the other. So what is held is lost if the program
	// asks for so much, on so slow a line, that the answer takes longer than about
	// half of the timeout, or writes as much. Without a hold an answer may take any
	// time, and a request nine tenths of the timeout.
	//
	// A server that resumes a session may grant less than before, if its
	// configuration is another. The client goes by that at once, but only once it
	// knows: do not lower the ensemble's maxSessionTimeout or tickTime while
	// clients hold something with a longer timeout. Lower theirs first. If it
	// may grant more, that concerns sessions opened from then on.
	SessionTimeout time.Duration

	// Chroot is the path below which the client lives: every path given to it is
	// taken relative to Chroot. What is missing of it is created when a recipe
	// first needs it. Empty means "/".
	Chroot string

	// ACL guards the znodes that recipes create, and those that the program creates
	// without saying otherwise. Nil means open to the world. It is part of each request
	// that creates a znode, and leaves less room there for data.
	ACL []ACL

	// Auth is presented on every connection, before anything else. SASL, which
	// servers can be configured to demand, is not among what a client can present.
	Auth []Auth

	// TLS, if not nil, secures every connection. Its ServerName, if empty, is the
	// host of the server dialled.
	TLS *tls.Config

	// Dial opens a connection, over which TLS goes if it is set. It must return
	// when ctx ends. Nil means that of a [net.Dialer].
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Logger gets what the client does on its own account, with session ids in hex,
	// as in ZooKeeper's own logs. Nil discards.
	//
	// At level Warn it gets the loss of a connection, of a session and of a hold, and
	// of a znode that could not be removed; at Info, connections, and servers that
	// give no session, each about once a minute until there is one; at Debug, what
	// else becomes of holds, and what go-zookeeper says. The context of a record has
	// the values of that of the operation. Credentials are never logged.
	//
	// The handler is called on a goroutine of its own, as the functions of Trace are.
	Logger *slog.Logger

	// Trace has functions to call at certain moments. Nil means none.
	Trace *Trace
}

// Auth is one way of saying who the client is. For the scheme "digest" the
// credential is "user:password".
type Auth struct {
	Scheme     string
	Credential []byte
}

// String returns the scheme, and a word in place of the credential. So do the
// other methods, for fmt, for encoding/json and its like, and for log/slog: however
// an Auth or what contains it is printed, the credential is not. But fmt asks no
// method of what is in an unexported field, or has a verb that go vet objects to,
// which are %p and %w.
func (a Auth) String() string { return a.Scheme + ":(credential)" }

// Format implements [fmt.Formatter]: an Auth is formatted as its String is.
func (a Auth) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), a.String()) }

// MarshalText implements [encoding.TextMarshaler].
func (a Auth) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// LogValue implements [slog.LogValuer].
func (a Auth) LogValue() slog.Value { return slog.StringValue(a.String()) }

const (
	defaultTimeout = 10 * time.Second
	minTimeout     = 100 * time.Millisecond
	maxTimeout     = math.MaxInt32 * time.Millisecond // as the protocol counts
)

// withDefaults returns a copy of o, which may be nil, with every default in place,
// or what is wrong with o.
func (o *Options) withDefaults() (*Options, error) {
	var s Options
	if o != nil {
		s = *o
	}
	switch {
	case s.SessionTimeout == 0:
		s.SessionTimeout = defaultTimeout
	case s.SessionTimeout < minTimeout || s.SessionTimeout > maxTimeout:
		return nil, fmt.Errorf("session timeout %v is not between %v and %v", s.SessionTimeout, minTimeout, maxTimeout)
	}
	if s.Chroot == "" {
		s.Chroot = "/"
	}
	if err := zkpath.Check(s.Chroot); err != nil {
		return nil, fmt.Errorf("chroot: %w", err)
	}
	if s.ACL == nil {
		s.ACL = []ACL{{PermAll, "world", "anyone"}}
	}
	if len(s.ACL) == 0 {
		return nil, errors.New("an empty ACL, which would let nobody in; nil means open to the world")
	}
	for _, a := range s.ACL {
		if a.Scheme == "" || a.Perms == 0 || a.Perms&^PermAll != 0 {
			return nil, fmt.Errorf("invalid ACL: permissions %#x for scheme %q", a.Perms, a.Scheme)
		}
	}
	if err := checkMulti(&zk.CreateRequest{Path: s.Chroot, Acl: zkACL(s.ACL)}); err != nil {
		return nil, fmt.Errorf("an ACL of %d entries, which leaves no room in a request for anything: %w", len(s.ACL), err)
	}
	for _, a := range s.Auth {
		if a.Scheme == "" {
			return nil, errors.New("credential without a scheme")
		}
		if n := len(a.Scheme) + len(a.Credential); n > maxAuth {
			return nil, fmt.Errorf("credential of %d bytes: servers take %d", n, maxAuth)
		}
	}
	s.ACL, s.Auth = slices.Clone(s.ACL), slices.Clone(s.Auth)
	if s.Dial == nil {
		s.Dial = new(net.Dialer).DialContext
	}
	return &s, nil
}

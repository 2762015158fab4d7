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
	// SessionTimeout is how long the ensemble keeps a session that it does not hear
	// from. Zero means 10 s; less than 100 ms is refused. The ensemble imposes bounds
	// of its own, by default from 2 to 20 ticks, or 4 s to 40 s. A timeout of less than
	// two ticks, if the ensemble is configured to grant it, is not safe: its servers
	// report their clients to the leader only every half tick.
	//
	// A hold is lost when no transaction of the session has been carried out for 0.64
	// of the timeout. While something is held and the program writes nothing, the client
	// makes a transaction that changes nothing every sixth of the timeout: one for the
	// session, however much it holds. So 1,000 idle clients with holds cost the ensemble
	// 600 writes to its logs a second if the timeout is 10 s, and 200 if it is 30 s.
	// Clients that hold nothing cost none.
	//
	// Answers come one after the other. So what is held is lost if the program reads or
	// writes so much at a time, on so slow a connection, that this alone takes longer
	// than about half of the timeout. Without a hold an answer may take any time, and a
	// request nine tenths of the timeout.
	//
	// A server that resumes a session may grant less than before, if it is configured
	// differently. The client complies, but only once it knows. So do not lower the
	// ensemble's maxSessionTimeout or tickTime while clients hold something with a
	// longer timeout: lower the clients' timeouts first. A limit that is raised takes
	// effect in new sessions.
	SessionTimeout time.Duration

	// Chroot is the path below which the client lives: every path that is given to it
	// is taken relative to Chroot. If Chroot is missing, it is created when something is
	// first created below it, and what is missing above it as well. Empty means "/".
	Chroot string

	// ACL is the access list of the znodes that recipes create, and of those that the
	// program creates without naming another. Nil means open to the world. It is part of
	// each request that creates a znode, and leaves less room there for data.
	ACL []ACL

	// Auth is presented on every connection, before anything is asked for.
	Auth []Auth

	// SASL, if not nil, begins the authentication by SASL on a connection to host, the name
	// of the server as it was given. It is called for every connection, and must not block:
	// what takes time is for Step. An error ends the attempt to connect. See [DigestMD5]; other mechanisms can be had by implementing
	// [SASL].
	SASL func(host string) (SASL, error)

	// TLS, if not nil, secures every connection. If its ServerName is empty, the host of
	// the server that is dialed is used, as it was given and not as it was looked up.
	TLS *tls.Config

	// Servers, if not nil, returns the servers, as host:port or host. It is asked when the
	// client begins to look for one, and then again each second. The attempt to connect
	// waits for it, so it must return when ctx ends, which is soon if servers are known. If
	// it fails, those that it returned last are tried. [Dial] and [New] are then to be given
	// none.
	Servers func(ctx context.Context) ([]string, error)

	// FollowEnsemble has the client follow the ensemble's own list of servers, which
	// dynamic reconfiguration changes: the znode /zookeeper/config, to which the client
	// needs the permission to read. If that is refused, it is followed no longer. The
	// servers that the program has named are tried when all that the ensemble names have
	// been tried in vain. Do not set it where clients reach the servers under other
	// addresses than the ensemble knows, as through port forwarding, or by TLS on a port of
	// its own.
	FollowEnsemble bool

	// LookupHost returns the addresses for which the host of a server stands, as that of a
	// [net.Resolver] does. Each is a server to try. Hosts are looked up when the client
	// begins to look for a server, and then again each second. The attempt to connect waits
	// for that, so LookupHost must return when ctx ends, which is soon if addresses are
	// known; then those that were found last are tried. It must not call Client.Conn. Nil
	// means that of [net.DefaultResolver]. But if Dial is not nil, nil means that hosts are
	// left to Dial.
	LookupHost func(ctx context.Context, host string) (addrs []string, err error)

	// Dial opens a connection, beneath TLS if that is set. It must return when ctx ends.
	// Nil means that of a [net.Dialer].
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Logger gets what happens in the client, with session ids in hex, as in ZooKeeper's
	// own logs. Nil discards all but one thing, for which it means [slog.Default]: that
	// there is no first session yet, with what is wrong with each server.
	//
	// At level Warn it gets that, after ten seconds and then each minute; the losses of
	// connections, sessions and holds; and znodes that could not be removed. At Info it
	// gets connections, and servers that give no session, each about once a minute until
	// there is one; at Debug, what else becomes of holds, and what go-zookeeper logs. The
	// context of a record has the values of the operation's context. Credentials are never
	// logged.
	//
	// The handler is called on a goroutine of its own, as the functions of Trace are.
	Logger *slog.Logger

	// Trace has functions that the client calls at certain moments. Nil means none.
	Trace *Trace
}

// Auth is a credential, by which the client authenticates itself. For the scheme
// "digest" it is "user:password".
type Auth struct {
	Scheme     string
	Credential []byte
}

// String returns the scheme, with a word in place of the credential. The other methods do
// the same for fmt, encoding/json and the like, and log/slog, so that an Auth can be
// printed, alone or as part of something, without its credential. Two cases are out of
// reach, because fmt calls no method there: an Auth in an unexported field, and the verbs
// %p and %w, to which go vet objects.
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

// withDefaults returns a copy of o, which may be nil, with every default in place, or
// what is wrong with o. The program may change its Options afterwards, and use them for
// another client.
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
		if a.Scheme == "" && a.ID != "" { // so Auth.ACL says what is wrong
			return nil, fmt.Errorf("invalid ACL: %s", a.ID)
		}
		if a.Scheme == "" || a.Perms == 0 || a.Perms&^PermAll != 0 {
			return nil, fmt.Errorf("invalid ACL: permissions %#x for scheme %q", a.Perms, a.Scheme)
		}
	}
	// The largest request of the client's own for one znode, here with the shortest path:
	// if that does not fit, no recipe could do anything.
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
		if s.LookupHost == nil {
			s.LookupHost = net.DefaultResolver.LookupHost
		}
	}
	return &s, nil
}

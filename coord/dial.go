package coord

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// hosts chooses the servers for a session's conn. It implements [zk.HostProvider].
type hosts struct{ s *Session }

func (h hosts) Init([]string) error { return nil }
func (h hosts) Len() int            { return h.s.c.servers.size() }

// Connected does nothing: the library calls it when a server has granted the session,
// which a server does even for a client that it will not serve. See tappedConn.served.
func (h hosts) Connected() {}

// Next implements [zk.HostProvider]. While the session lives it never reports a
// wrap-around: the library would reject requests and sleep for a second. Once the
// session is over it always reports one: only then does the library's loop end.
func (h hosts) Next() (server string, retryStart bool) {
	if h.s.Err() == nil {
		h.s.choose()
	}
	over := h.s.Err() != nil
	if over {
		select {
		case <-h.s.draining:
		default:
			close(h.s.draining)
		}
	}
	return h.s.dialing.at.String(), over
}

// A dialing is one attempt to connect a session.
type dialing struct {
	at server
	// pause is to be made before it, and budget how long it may take from then on.
	pause, budget time.Duration
	// began is when it began, and by when the server must serve the session.
	began, by time.Time
	// err is why there is no server to dial.
	err error
}

// choose begins the next attempt. The library holds the mutex of Conn().Server()
// meanwhile, so the pause before the attempt is left to dial.
func (s *Session) choose() {
	budget, pause := s.urgency()
	a := dialing{at: unlisted, budget: budget, pause: s.c.servers.pause(pause)}
	ctx, cancel := context.WithTimeout(s.ctx, budget)
	defer cancel()
	a.err = returned(func() (err error) {
		a.at, err = s.c.servers.pick(ctx)
		return err
	})
	a.budget, _ = s.urgency() // of the turn that there is now
	s.dialing = a
}

// wait makes the pause before an attempt, which the library does not: it tries again at
// once. Then the attempt begins.
func (s *Session) wait(a *dialing) error {
	if a.pause > 0 {
		timer := time.NewTimer(a.pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.Done():
			return s.Err()
		}
	}
	a.began = time.Now()
	a.by = a.began.Add(a.budget)
	return nil
}

// dial opens one connection for the session's conn, with a tap, unless the session is
// over. It is a [zk.Dialer], but bounds time in its own way.
func (s *Session) dial(network, _ string, _ time.Duration) (net.Conn, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	a := s.dialing
	if err := s.wait(&a); err != nil {
		return nil, err
	}
	conn, err := net.Conn(nil), a.err
	if err == nil {
		conn, err = s.c.open(s.ctx, network, a)
	}
	if err != nil {
		if s.Err() == nil { // otherwise it is no fault of the server's
			s.c.failed(a.at, a.began, err)
		}
		return nil, err
	}
	wire, err := s.adopt(conn, a)
	if err != nil {
		wire.abort()
		return nil, err
	}
	return wire, nil
}

// urgency returns how long a server may take to serve the session, and how long to
// pause at most between two attempts.
//
// There is haste only while a lease may run out. A session that has never been
// established has no lease: there the longer servers take, the longer the next attempt
// waits for them, as servers under load need. And pauses are not shortened where that
// would save nothing, because the servers refuse the client or hang up on it.
func (s *Session) urgency() (budget, pause time.Duration) {
	list, t, established := s.c.servers, sessionTimeout(s.Timeout()), s.established()
	rounds := list.rounds()
	switch {
	case !established:
		budget = max(t.silence()<<min(rounds, 5), patience(rounds))
	case list.size() == 1: // no other to try
		budget = min(t.silence(), patience(rounds))
	default:
		budget = t.handshake(rounds)
	}
	if !established || list.fickle() || list.hopeless() {
		return budget, time.Second
	}
	return budget, min(time.Second, t.heartbeat()/4)
}

// open dials the server of a and secures the connection.
func (c *Client) open(ctx context.Context, network string, a dialing) (conn net.Conn, err error) {
	ctx, cancel := context.WithDeadline(ctx, a.by)
	defer cancel()
	c.servers.dialing(a.at)
	err = returned(func() (err error) {
		conn, err = c.connect(ctx, network, a.at)
		return err
	})
	return conn, err
}

// connect does the work of open. The program's Dial is bounded by ctx, and so is the TLS
// handshake. Any error is recorded as the server's, for the report of what is wrong with
// each.
func (c *Client) connect(ctx context.Context, network string, at server) (net.Conn, error) {
	conn, err := c.opts.Dial(ctx, network, at.addr)
	switch {
	case err != nil:
		return nil, err
	case conn == nil:
		return nil, errors.New("Options.Dial returned neither connection nor error")
	case c.opts.TLS == nil:
		return conn, nil
	}
	config := c.opts.TLS
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = at.host() // and not its address, which certificates seldom have
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake's error says it all
		if hungUp(err) {
			return nil, fmt.Errorf("TLS: server hung up on the handshake: it does not expect TLS, perhaps: %w", err)
		}
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return secure, nil
}

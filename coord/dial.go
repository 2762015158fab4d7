package coord

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// hosts shows a session's conn the server list. It implements [zk.HostProvider].
type hosts struct{ s *Session }

func (h hosts) Init([]string) error { return nil }
func (h hosts) Len() int            { return len(h.s.c.servers.addrs) }
func (h hosts) Connected()          {} // not a proof of anything: see tappedConn.served

// Next never says that the list starts anew while the session lives, for the
// library would then refuse requests and sleep for a second. Once the session is
// over it always does: that is the way by which the library's loop ends.
func (h hosts) Next() (server string, retryStart bool) {
	over := h.s.Err() != nil
	if over {
		select {
		case <-h.s.draining:
		default:
			close(h.s.draining)
		}
	}
	return h.s.c.servers.pick(), over
}

// dial opens one connection for the session's conn, with a tap, unless the
// session is over. It is a [zk.Dialer], but bounds time in its own way.
func (s *Session) dial(network, addr string, _ time.Duration) (net.Conn, error) {
	established := s.established()
	t, rounds := sessionTimeout(s.Timeout()), s.c.servers.rounds()
	budget, calm := t.handshake(rounds), t.heartbeat()/4
	if len(s.c.servers.addrs) == 1 { // no other to try
		budget = min(t.silence(), patience(rounds))
	}
	if !established { // no lease runs out; be the more patient the longer it takes
		budget = max(t.silence()<<min(rounds, 5), patience(rounds))
	}
	if !established || s.c.servers.fickle() || s.c.servers.hopeless() { // haste would save nothing
		calm = time.Second
	}
	if d := s.c.servers.pause(min(time.Second, calm)); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.Done():
			return nil, s.Err()
		}
	}
	s.c.servers.dialing(addr)
	began := time.Now()
	by := began.Add(budget)
	ctx, cancel := context.WithDeadline(s.ctx, by)
	defer cancel()
	conn, err := s.c.open(ctx, network, addr)
	if err != nil {
		if s.Err() == nil {
			s.c.failed(addr, began, err)
		}
		return nil, err
	}
	wire := newTappedConn(s, conn, addr, began, by)
	if !s.adopt(wire) {
		wire.abort()
		return nil, s.Err()
	}
	return wire, nil
}

// open dials addr and secures the connection. It does so on a goroutine of its
// own: the one that asks is the library's, which a function of the program must
// not end.
func (c *Client) open(ctx context.Context, network, addr string) (conn net.Conn, err error) {
	err = errExited
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err = c.connect(ctx, network, addr)
	}()
	<-done
	return conn, err
}

func (c *Client) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.opts.Dial(ctx, network, addr)
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
		config.ServerName, _, _ = net.SplitHostPort(addr) // addr was made by JoinHostPort
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

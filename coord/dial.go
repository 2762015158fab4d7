package coord

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

var errPending = errors.New("no answer yet")

// A ring is the list of a client's servers, and what became of the last attempt
// at each. All sessions of the client go round the same ring.
type ring struct {
	addrs []string // in random order, so that clients spread

	mu     sync.Mutex
	next   int
	tries  int              // since a server has last answered a request
	errors map[string]error // by address
}

func newRing(addrs []string) *ring {
	addrs = slices.Clone(addrs)
	rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	return &ring{addrs: addrs, errors: make(map[string]error)}
}

// turn returns the server to try next.
func (r *ring) turn() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	addr := r.addrs[r.next]
	r.next = (r.next + 1) % len(r.addrs)
	return addr
}

// trying notes that addr is being dialled.
func (r *ring) trying(addr string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errors[addr] == nil {
		r.errors[addr] = errPending
	}
}

// pause returns how long to wait before the next attempt. Each server has a
// first chance at once. Then the pauses double, up to max, and are jittered: the
// clients of a server that restarts should not all come at the same moment.
func (r *ring) pause(max time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	round := r.tries / len(r.addrs)
	r.tries++
	if round == 0 {
		return 0
	}
	d := min(10*time.Millisecond<<min(round, 16), max)
	return d/2 + rand.N(d)
}

// round returns how often each server has been tried in vain.
func (r *ring) round() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tries / len(r.addrs)
}

// failed notes why addr gave us no session.
func (r *ring) failed(addr string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors[addr] = err
}

// answered notes that the present server is good.
func (r *ring) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries = 0
}

// report says of each server what is wrong with it.
func (r *ring) report() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := make([]string, 0, len(r.addrs))
	for _, addr := range slices.Sorted(slices.Values(r.addrs)) {
		why := "not tried"
		if err := r.errors[addr]; err != nil {
			why = err.Error()
		}
		said = append(said, addr+": "+why)
	}
	return errors.New(strings.Join(said, "; "))
}

// hosts shows a session's conn the ring. It implements [zk.HostProvider].
type hosts struct{ s *Session }

func (h hosts) Init([]string) error { return nil }
func (h hosts) Len() int            { return len(h.s.c.ring.addrs) }
func (h hosts) Connected()          {} // not a proof of anything: see Session.heard

// Next never says that the list starts anew while the session lives, for the
// library would then refuse requests and sleep for a second. Once the session is
// over it always does: that is the way by which the library's loop ends.
func (h hosts) Next() (server string, retryStart bool) {
	over := h.s.life.Err() != nil
	if over {
		select {
		case <-h.s.idle:
		default:
			close(h.s.idle)
		}
	}
	return h.s.c.ring.turn(), over
}

// dial opens one connection for the session's conn, under a tap, unless the
// session is over. It is a [zk.Dialer], but bounds time in its own way.
func (s *Session) dial(network, addr string, _ time.Duration) (net.Conn, error) {
	s.mu.Lock()
	t, established := s.timeout, s.id != 0
	s.mu.Unlock()
	budget, calm := t.greeting(), t.heartbeat()/4
	if len(s.c.ring.addrs) == 1 { // no other to try
		budget = t.silence()
	}
	if !established { // no lease runs out; be the more patient the longer it takes
		budget, calm = max(t.silence(), time.Second)<<min(s.c.ring.round(), 5), time.Second
	}
	if d := s.c.ring.pause(min(time.Second, calm)); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.life.Done():
			return nil, s.Err()
		}
	}
	s.c.ring.trying(addr)
	by := time.Now().Add(budget)
	ctx, cancel := context.WithDeadline(s.life, by)
	defer cancel()
	conn, err := s.c.open(ctx, network, addr)
	if err != nil {
		if s.life.Err() == nil {
			s.c.ring.failed(addr, err)
			s.c.report.dialFailed(addr, err)
		}
		return nil, err
	}
	tap := newTap(s, conn, addr, by)
	if !s.adopt(tap) {
		tap.hangUp()
		return nil, s.Err()
	}
	return tap, nil
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
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return secure, nil
}

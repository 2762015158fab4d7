package coord

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

// A ring is the list of a client's servers, and what became of the last attempt
// at each. All sessions of the client go round the same ring.
type ring struct {
	addrs []string // in random order, so that clients spread

	mu     sync.Mutex
	next   int
	tries  int              // since a server has last kept us for a while
	brief  int              // how often a server has welcomed us since then
	errors map[string]error // by address, since a server has last welcomed us
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

// hopeless reports whether the last word of each server was to refuse us for good.
func (r *ring) hopeless() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(r.addrs, func(addr string) bool { return !final(r.errors[addr]) })
}

// welcomed notes that a server serves the session. Should the connection end too
// soon, that is forgiven once: it is the second in a row that makes a pattern.
func (r *ring) welcomed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.errors)
	if r.brief++; r.brief == 1 {
		r.tries = 0
	}
}

// lasted notes that the present server has served the session for a while, and
// is good.
func (r *ring) lasted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.brief, r.tries = 0, 0
}

// fickle reports whether servers have welcomed us and hung up soon again and again.
func (r *ring) fickle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.brief > 5
}

// report says of each server what is wrong with it.
func (r *ring) report() serverErrors {
	r.mu.Lock()
	defer r.mu.Unlock()
	var said serverErrors
	for _, addr := range slices.Sorted(slices.Values(r.addrs)) {
		said = append(said, serverError{addr, cmp.Or(r.errors[addr], errUntried)})
	}
	return said
}

// refusals is the report of those servers whose last word was to refuse us for
// good.
func (r *ring) refusals() serverErrors {
	return slices.DeleteFunc(r.report(), func(err error) bool { return !final(err) })
}

// hosts shows a session's conn the ring. It implements [zk.HostProvider].
type hosts struct{ s *Session }

func (h hosts) Init([]string) error { return nil }
func (h hosts) Len() int            { return len(h.s.c.ring.addrs) }
func (h hosts) Connected()          {} // not a proof of anything: see tap.served

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
	s.c.mu.Lock()
	known := s.known
	s.c.mu.Unlock()
	t, rounds := term(s.Timeout()), s.c.ring.round()
	budget, calm := t.greeting(rounds), t.heartbeat()/4
	if len(s.c.ring.addrs) == 1 { // no other to try
		budget = min(t.silence(), patience(rounds))
	}
	if !known { // no lease runs out; be the more patient the longer it takes
		budget = max(t.silence()<<min(rounds, 5), patience(rounds))
	}
	if !known || s.c.ring.fickle() || s.c.ring.hopeless() { // haste would save nothing
		calm = time.Second
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
	began := time.Now()
	by := began.Add(budget)
	ctx, cancel := context.WithDeadline(s.life, by)
	defer cancel()
	conn, err := s.c.open(ctx, network, addr)
	if err != nil {
		if s.life.Err() == nil {
			s.c.failed(addr, began, err)
		}
		return nil, err
	}
	tap := newTap(s, conn, addr, began, by)
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
		if hungUp(err) {
			return nil, fmt.Errorf("TLS: server hung up on the handshake: it does not expect TLS, perhaps: %w", err)
		}
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return secure, nil
}

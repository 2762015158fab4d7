package coord

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// maxCalls is how many requests may be with go-zookeeper at a time. Its queue
// takes 16; as long as there is room, Close can always say goodbye.
const maxCalls = 8

// A Session is one session of a [Client], from the first attempt to open it
// until it is over for good: for those who write recipes. What was asked for in
// one session can not happen in another, because each has a connection of its
// own, which is thrown away with it.
//
// A session is over when the ensemble says so, when nothing has been heard for
// 0.64 of its timeout, although the ensemble may then still keep it for a while,
// or when the client is closed.
type Session struct {
	c     *Client
	conn  *zk.Conn
	over  <-chan zk.Event         // closed by conn when its goroutines have ended
	life  context.Context         // ends when the session is over, and says why
	end   context.CancelCauseFunc // ends life; called with c.mu held
	slots chan struct{}           // one token for each request with conn
	known bool                    // has been established; guarded by c.mu

	mu      sync.Mutex
	id      int64 // zero until established
	timeout term  // the wish, then what was negotiated
	latest  time.Time
	zxid    int64
	tap     *tap          // the newest connection, if there has been one
	up      chan struct{} // closed while requests may be made
	isUp    bool
	calls   sync.WaitGroup // requests with conn; added to with mu held while life lasts
}

// newSession begins to open a session. It is called with c.mu held.
func (c *Client) newSession() *Session {
	s := &Session{
		c:       c,
		slots:   make(chan struct{}, maxCalls),
		timeout: term(c.opts.SessionTimeout),
		up:      make(chan struct{}),
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	var err error
	s.conn, s.over, err = zk.Connect(c.ring.addrs, c.opts.SessionTimeout,
		zk.WithDialer(s.dial), zk.WithHostProvider(hosts{s}), zk.WithEventCallback(s.event),
		zk.WithLogger(chatter{c.report}), zk.WithLogInfo(false), zk.WithMaxBufferSize(maxFrame))
	if err != nil {
		panic("coord: " + err.Error()) // only for an empty list of servers, which Dial has refused
	}
	return s
}

// ID returns the session's number, zero until it is established.
func (s *Session) ID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Over returns a channel that is closed when the session is over.
func (s *Session) Over() <-chan struct{} { return s.life.Done() }

// Err returns nil while the session may be used, and then why it is over: an
// error that is [ErrExpired] or [ErrClosed].
func (s *Session) Err() error { return context.Cause(s.life) }

// until returns the moment up to which the session is good even if nothing more
// is heard. It is zero until the session is established.
func (s *Session) until() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == 0 {
		return time.Time{}
	}
	return s.latest.Add(s.timeout.lease())
}

// check ends the session if its lease has run out, and returns Err. It is for
// those who have waited and are about to rely on the session.
func (s *Session) check() error {
	s.mu.Lock()
	age, lease, established := since(s.latest), s.timeout.lease(), s.id != 0
	s.mu.Unlock()
	if established && age >= lease {
		s.c.over(s, fmt.Errorf("%w: no answer for %v", ErrExpired, age.Round(time.Millisecond)))
	}
	return s.Err()
}

// event is go-zookeeper's callback. It must not block.
func (s *Session) event(ev zk.Event) {
	switch {
	case s.life.Err() != nil, ev.Type == zk.EventNotWatching: // nothing new
	case ev.Type != zk.EventSession:
		s.c.loop.Event(ev)
	case ev.State == zk.StateHasSession:
		s.resumed()
	case ev.State == zk.StateDisconnected:
		s.suspended()
	case ev.State == zk.StateExpired:
		s.c.over(s, ErrExpired)
	}
}

// adopt makes t the session's connection, unless the session is over.
func (s *Session) adopt(t *tap) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return false
	}
	s.tap = t
	return true
}

// greeted takes the answer to the handshake written at asked.
func (s *Session) greeted(t *tap, id int64, timeout term, asked time.Time) error {
	s.mu.Lock()
	known := s.id
	if id != 0 && (known == 0 || known == id) {
		s.id, s.timeout, s.latest = id, timeout, asked
	}
	s.mu.Unlock()
	if known != 0 && id != known {
		// Some servers give out a new session in place of a word of refusal.
		s.c.over(s, ErrExpired)
	}
	return s.Err()
}

// heard notes that a request written at the time at has been answered, which
// proves that the session lived on some moment after that.
func (s *Session) heard(at time.Time, zxid int64) {
	s.mu.Lock()
	if at.After(s.latest) {
		s.latest = at
	}
	s.zxid = max(s.zxid, zxid)
	s.mu.Unlock()
	s.c.ring.answered()
}

func (s *Session) lastZxid() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zxid
}

// readFailed notes why t gives no more.
func (s *Session) readFailed(t *tap, err error) {
	if s.life.Err() != nil {
		return
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errSilent
	}
	if !t.greeted || errors.Is(err, zk.ErrAuthFailed) {
		s.c.ring.failed(t.server, err)
		s.c.report.dialFailed(t.server, err)
	}
	if errors.Is(err, zk.ErrAuthFailed) {
		s.c.refuse(err)
	}
}

// resumed opens the gate for requests: there is a connection, and the session
// lives.
func (s *Session) resumed() {
	s.mu.Lock()
	if s.life.Err() != nil || s.isUp {
		s.mu.Unlock()
		return
	}
	s.isUp = true
	close(s.up)
	id, timeout, server := s.id, s.timeout, s.tap.server
	s.mu.Unlock()
	s.c.resumed(s, server, id, time.Duration(timeout))
}

// suspended closes the gate.
func (s *Session) suspended() {
	s.mu.Lock()
	if !s.isUp {
		s.mu.Unlock()
		return
	}
	s.isUp = false
	s.up = make(chan struct{})
	id, server := s.id, s.tap.server
	s.mu.Unlock()
	s.c.suspended(s, server, id)
}

// watchLease ends the session when its lease runs out, and before that hangs up
// on a server that has fallen silent, so that another can be tried in time.
func (s *Session) watchLease() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var hung *tap
	for {
		select {
		case <-timer.C:
		case <-s.life.Done():
			return
		}
		if s.check() != nil {
			return
		}
		s.mu.Lock()
		t, age, tap, up := s.timeout, since(s.latest), s.tap, s.isUp
		s.mu.Unlock()
		// A timer goes by the monotonic clock; looking up from time to time
		// notices that the machine has slept.
		wait := min(t.lease()-age, t.heartbeat()/2)
		switch {
		case !up || tap == hung:
		case age >= t.silence():
			hung = tap
			tap.hangUp()
		default:
			wait = min(wait, t.silence()-age)
		}
		timer.Reset(max(wait, time.Millisecond))
	}
}

// hangUp drops the present connection, if there is one.
func (s *Session) hangUp() {
	s.mu.Lock()
	tap := s.tap
	s.mu.Unlock()
	if tap != nil {
		tap.hangUp()
	}
}

// bury waits for what is left of a session that is over, and says goodbye to the
// ensemble if the connection still stands.
func (s *Session) bury() {
	answered := make(chan struct{})
	go func() {
		s.calls.Wait()
		close(answered)
	}()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-answered: // some kinds of request must not be with the library while it closes
	case <-timer.C:
	}
	s.conn.Close() // takes a second at the most
	s.hangUp()
	for range s.over {
	}
	<-answered
}

// chatter passes on what go-zookeeper says of itself.
type chatter struct{ r *reporter }

func (c chatter) Printf(format string, args ...any) {
	c.r.chatter(fmt.Sprintf(format, args...))
}

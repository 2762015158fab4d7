package coord

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// maxCalls is how many requests may be with go-zookeeper at a time. Its queue
// takes 16; as long as there is room, Close can always say goodbye.
const maxCalls = 8

// A Session is one session of a [Client], from the first attempt to open it
// until it is over for good: for those who write recipes, or make requests of
// their own with [Call] and [Retry]. What was asked for in one session can not
// happen in another, because each has a connection of its own, which is thrown
// away with it.
//
// A session is over when the ensemble says so; when no answer has come for 0.64
// of its timeout or, while something is held in it, none to a transaction, although
// the ensemble may then still keep it for a while; or when the client is closed.
type Session struct {
	c     *Client
	conn  *zk.Conn
	over  <-chan zk.Event         // closed by conn when its goroutines have ended
	life  context.Context         // ends when the session is over, and says why
	end   context.CancelCauseFunc // ends life; called by finish
	slots chan struct{}           // one token for each request with conn
	idle  chan struct{}           // closed when conn, after the end, looks for a server again
	look  chan struct{}           // holds a token while there is news for watchLease
	known bool                    // has been established; guarded by c.mu
	first bool                    // of its client

	opened     time.Time // when it was established; guarded by c.mu, as is
	suspension time.Time // when the connection was lost; zero while there is one

	caughtUp atomic.Bool // see catchUp

	mu      sync.Mutex
	id      int64 // zero until established
	created term  // the timeout with which the session was opened
	lease   lease
	proving bool   // a proof is being asked for, see prove
	proveAt moment // when it last was
	asking  bool   // the leader is being asked for a sign of life, see ask
	askAt   moment // when it last was
	zxid    int64
	tap     *tap          // the newest connection, if there has been one
	up      chan struct{} // closed while requests may be made
	isUp    bool
	holds   map[*Hold]struct{}
	calls   sync.WaitGroup // requests with conn; added to with mu held while life lasts
}

// newSession begins to open a session. It is called with c.mu held.
func (c *Client) newSession() *Session {
	s := &Session{
		c:     c,
		slots: make(chan struct{}, maxCalls),
		idle:  make(chan struct{}),
		look:  make(chan struct{}, 1),
		lease: lease{term: term(c.opts.SessionTimeout)},
		up:    make(chan struct{}),
		holds: make(map[*Hold]struct{}),
		first: c.session == nil,
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

// Timeout returns for how long the ensemble keeps the session without hearing
// from the client: what was asked for and, once it is established, what was
// granted. It changes if a server that resumes the session grants less.
func (s *Session) Timeout() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.lease.term)
}

// Done returns a channel that is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.life.Done() }

// Err returns nil while the session may be used, and then why it is over: an
// error that is [ErrExpired] or [ErrClosed].
func (s *Session) Err() error { return context.Cause(s.life) }

// finish ends the life of s, and tells first of all those who hold something in
// it: whoever sees a request fail because the session is over finds Lost closed.
// It is called with c.mu held, so that there is a next session for those who
// look for it, and takes s.mu, so that no request is admitted and no hold is
// granted any more when it returns.
func (s *Session) finish(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.holds {
		h.settle(cause)
	}
	s.end(cause)
}

// grant makes h held in s, unless s is over or h is.
func (s *Session) grant(h *Hold, node string, token Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Err(); err != nil {
		return err
	}
	if s.lease.left() <= 0 {
		return errUnproven
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	h.session, h.node, h.token = s, node, token
	s.holds[h] = struct{}{}
	close(h.acquired)
	s.c.report.acquired(h)
	s.lookUp() // the lease begins to matter
	return nil
}

// forget notes that h is over.
func (s *Session) forget(h *Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds, h)
}

// event is go-zookeeper's callback. It must not block.
func (s *Session) event(ev zk.Event) {
	switch {
	case s.life.Err() != nil:
		if ev.Type == zk.EventSession && ev.State == zk.StateDisconnected {
			// Perhaps the library's Close is under way, and has told the loop to
			// end but not yet put the request into the queue that the loop
			// empties last. It would wait a second for nothing.
			time.Sleep(time.Millisecond)
		}
	case ev.Type == zk.EventNotWatching: // nothing new
	case ev.Type != zk.EventSession:
		s.c.loop.Event(ev)
	case ev.State == zk.StateDisconnected:
		s.suspended()
	case ev.State == zk.StateExpired:
		s.c.over(s, errEnsemble)
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

// greeted takes the answer to the handshake. It proves nothing: a leader that has
// lost the others resumes sessions, and with local sessions a server opens them, by
// itself. A longer timeout than the one with which the session was opened is not
// relied on, for a leader that is elected later knows nothing of it.
func (s *Session) greeted(t *tap, id int64, timeout term, asked moment) error {
	s.mu.Lock()
	known := s.id
	if id != 0 && (known == 0 || known == id) {
		if s.id = id; known == 0 {
			s.created = timeout
		}
		s.lease.greeted(asked, min(timeout, s.created))
		s.lookUp() // the timeout may be another
	}
	s.mu.Unlock()
	if known != 0 && id != known {
		// Some servers give out a new session in place of a word of refusal.
		s.c.over(s, errEnsemble)
	}
	return s.Err()
}

// wish returns the timeout to ask for.
func (s *Session) wish() term {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.created, term(s.c.opts.SessionTimeout))
}

func (s *Session) lastZxid() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zxid
}

// readFailed notes why t gives no more, or does not take the handshake.
func (s *Session) readFailed(t *tap, err error) {
	if s.life.Err() != nil || t.welcome && !final(err) {
		return
	}
	s.c.failed(t.server, t.began, t.explained(err))
}

// resumed opens the gate for requests: there is a connection, the session lives,
// and the server serves it.
func (s *Session) resumed() {
	s.mu.Lock()
	if s.life.Err() != nil || s.isUp {
		s.mu.Unlock()
		return
	}
	s.isUp = true
	close(s.up)
	s.proveAt, s.askAt = moment{}, moment{} // another server can be asked at once
	began := s.tap.began
	s.mu.Unlock()
	s.lookUp() // a proof may be due
	s.c.resumed(s, began)
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
	s.mu.Unlock()
	s.c.suspended(s)
}

// info describes what has been going on in s since begin.
func (s *Session) info(begin time.Time, err error) SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SessionInfo{ID: s.id, Server: s.tap.server, Timeout: time.Duration(s.lease.term), Begin: begin, End: time.Now(), Err: err}
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

// chatter passes on what go-zookeeper says of itself.
type chatter struct{ r *reporter }

func (c chatter) Printf(format string, args ...any) { c.r.chatter(format, args...) }

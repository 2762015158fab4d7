package coord

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// The state of a session is guarded by its client's mutex, because each change of it is a
// change of both: when a session is seen to be over, its successor is there. A session
// only learns of a change. What follows from it is decided in one place, Client.become.
//
// Locks are taken in this order: Client.mu; Hold.mu; and then those under which no other
// is taken, of the reporter, of the server list and of the inboxes. No function of the
// program runs under any of them.

// A Session is one session of a [Client], from the first attempt to open it until it is
// over for good. Recipes make their requests in one. What was asked for in one session
// cannot be carried out in another, because each has a [zk.Conn] of its own, which ends
// with it.
//
// A session is over when the ensemble says so, or the client is closed. It is also over,
// though the ensemble may still keep it for a while, when nothing has been heard from the
// ensemble for 0.64 of the session's timeout; or when something is held in it and none of
// its transactions has been carried out for as long.
type Session struct {
	c    *Client
	conn *zk.Conn
	// connDone is closed by conn when its goroutines have ended.
	connDone <-chan zk.Event
	// ctx ends when the session is over, and says why. Only finish cancels it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// draining is closed when conn, after the end, looks for a server again. From then on
	// its Close finds nothing to wait for.
	draining chan struct{}
	// dialing is the last attempt to connect. It is owned by the goroutine of conn that
	// connects.
	dialing dialing
	// The rest is guarded by c.mu.

	// id is zero until the first handshake.
	id    SessionID
	lease lease
	// timer calls keepLease; nil until the session is established.
	timer *time.Timer
	// gate is open while a server serves the session. After the end it stays open or not,
	// as it was then, but admits nothing.
	gate gate
	// zxid is the newest that was seen. It is kept here and not with a connection, since
	// the next server must not be behind the last.
	zxid int64
	// wire is the newest connection, nil if there has been none.
	wire *tappedConn
	// armed are the watches of the session's own requests. There may be others if shared
	// is set: the program has armed them by go-zookeeper.
	armed  armory
	shared bool
	// treeless says that the servers are not asked for recursive watches any more, and
	// refusals counts how often in a row one has hung up instead of an answer.
	treeless bool
	refusals int
	// synced says that reads need not catch up any more: see catchUp.
	synced bool
	// holds are those that were granted in the session and are not over. They include
	// lost ones of which something is still to be removed.
	holds map[*Hold]struct{}
	// opened is when a server first served the session; zero before that.
	opened time.Time
	// suspension is when the connection was lost; zero while there is one.
	suspension time.Time
}

// newSession begins to open a session. It is called with c.mu held.
func (c *Client) newSession() *Session {
	s := &Session{
		c:        c,
		draining: make(chan struct{}),
		synced:   c.session == nil, // there is nothing to catch up with
		lease:    lease{timeout: sessionTimeout(c.opts.SessionTimeout)},
		gate:     gate{drained: make(chan struct{})},
		holds:    make(map[*Hold]struct{}),
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	var err error
	s.conn, s.connDone, err = zk.Connect([]string{unlisted.addr}, c.opts.SessionTimeout,
		zk.WithDialer(s.dial), zk.WithHostProvider(hosts{s}), zk.WithEventCallback(s.event),
		zk.WithLogger(zkLogger{c.report}), zk.WithLogInfo(false), zk.WithMaxBufferSize(maxFrame))
	if err != nil {
		panic("coord: " + err.Error()) // only for an empty list of servers
	}
	return s
}

// ID returns the session's id, zero until there is one.
func (s *Session) ID() SessionID {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.id
}

// Timeout returns for how long the ensemble keeps the session without hearing from the
// client: once a server has granted the session, what it has granted, and before that what
// the client will ask for. It changes if a server that resumes the session grants less.
func (s *Session) Timeout() time.Duration {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return time.Duration(s.lease.timeout)
}

// Done returns a channel that is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// Err returns nil until the session is over, and then why: an error that is [ErrExpired]
// or [ErrClosed].
func (s *Session) Err() error { return context.Cause(s.ctx) }

// finish ends s. It closes Lost on every hold first, so that no request fails with the
// session's end before Lost is closed. It is called with c.mu held, and once that is
// released no more requests are admitted and no more holds granted.
func (s *Session) finish(cause error) {
	for _, h := range slices.SortedFunc(maps.Keys(s.holds), func(a, b *Hold) int { return cmp.Compare(a.id, b.id) }) {
		h.end(cause)
	}
	waiting := s.gate.close()
	s.cancel(cause)
	s.endLease()
	for _, q := range waiting {
		s.conclude(q, answer{err: cause})
	}
	if s.wire != nil {
		s.wire.unsent(cause)
	}
}

// grant makes h held in s, unless s or h is over or the lease has run out. It checks all
// three under the locks that the ends of s and of h take. So a hold is never granted after
// its loss, and one that is granted is among those that finish ends.
func (s *Session) grant(h *Hold, node string, token Token) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if err := s.Err(); err != nil {
		return err
	}
	if s.lease.remaining(now()) <= 0 {
		return errUnrenewed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	if h.session != nil {
		return errAcquired
	}
	h.session, h.node, h.token = s, node, token
	s.holds[h] = struct{}{}
	s.c.report.acquired(h)
	close(h.acquired)
	s.lookUp() // the lease begins to matter
	return nil
}

// forget notes that h is over. Until then the lease is kept for it.
func (s *Session) forget(h *Hold) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	delete(s.holds, h)
}

// event is go-zookeeper's callback. It must not block: the library's loops wait for it.
func (s *Session) event(ev zk.Event) {
	switch {
	case s.Err() != nil:
		if ev.Type == zk.EventSession && ev.State == zk.StateDisconnected {
			// The library's Close may be under way. It first tells the loop to end,
			// and then puts a request into the queue that the loop empties last. If
			// the loop is faster, Close waits a second for nothing. So give it time.
			time.Sleep(time.Millisecond)
		}
	case ev.Type != zk.EventSession: // see tappedConn.event
	case ev.State == zk.StateDisconnected:
		s.c.change(s, Suspended, nil)
	case ev.State == zk.StateExpired:
		s.c.change(s, Expired, errEnsemble)
	}
}

// established reports whether a server serves s, or has done so.
func (s *Session) established() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return !s.opened.IsZero()
}

// info describes s for a report of something that began at begin. It is called with c.mu
// held.
func (s *Session) info(begin time.Time, err error) SessionInfo {
	return SessionInfo{ID: s.id, Server: s.wire.at.String(), Timeout: time.Duration(s.lease.timeout), Begin: begin, End: time.Now(), Err: err}
}

// abort drops the present connection, if there is one.
func (s *Session) abort() {
	s.c.mu.Lock()
	wire := s.wire
	s.c.mu.Unlock()
	if wire != nil {
		wire.abort()
	}
}

// A zkLogger takes what go-zookeeper logs. It implements [zk.Logger].
type zkLogger struct{ r *reporter }

func (l zkLogger) Printf(format string, args ...any) { l.r.zkLog(format, args...) }

package coord

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/watch"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// maxPast is how many sessions that are over a client remembers. An abandoned one
// survives in the ensemble for less than half its timeout, so few can overlap.
const maxPast = 8

// A Client is a program's connection to an ensemble. It outlives sessions: when one is
// over it opens the next. What was held in the old session is lost; what was watched is
// watched again.
//
// A Client must come from [Dial] or [New]. Its methods are safe for concurrent use.
type Client struct {
	opts    *Options
	servers *serverList
	report  *reporter
	loop    *watch.Loop
	// ctx ends with the cause ErrClosed when Close is called.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// closed is closed when Close has done its work.
	closed chan struct{}
	// refused holds a token when every server has refused the client for good.
	refused chan struct{}

	// mu guards what follows, and the state of all sessions. The goroutines of sessions
	// and those of recipes, the tasks, are added with mu held, and not after Close: a
	// WaitGroup must not grow from zero while Close waits for it.
	mu sync.Mutex
	// session is the present one; never nil.
	session *Session
	state   State
	// changed is closed and replaced when state changes.
	changed         chan struct{}
	sessions, tasks sync.WaitGroup
	// holds is how many are not over.
	holds int
	// past are the ids of the last sessions that were over, oldest first.
	past []SessionID

	// local is the map that Kit.Values returns.
	local sync.Map
	kit   Kit
	// acl is opts.ACL as go-zookeeper has it, shared by all requests.
	acl []zk.ACL
}

// Close ends the session, and with it everything that is held in it, and waits for all
// goroutines of c and of what was made from it. If the connection is down, the ensemble
// ends the session only after its timeout. Close may be called more than once, and
// returns nil.
//
// It takes at most two seconds, plus the time spent in functions that the program gave
// to c or to a recipe. Do not call Close from one of those, since each would wait for
// the other. The functions of a [Trace] and the handler of a Logger are the exception:
// see there.
func (c *Client) Close() error {
	c.close(true)
	return nil
}

// close does the work of Close. It asks the ensemble to end the session if closeSession
// is set; otherwise that is left to the session timeout.
//
// The order matters. Recipes are waited for while the session's connection still works
// for them; the reads of the loop end only with the connection; and what any of these has
// to report comes before the end of the reporter.
func (c *Client) close(closeSession bool) {
	defer c.report.wait()
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		<-c.closed
		return
	}
	s := c.session
	c.become(s, Closed, ErrClosed) // first of all: this is what holders wait for
	c.cancel(ErrClosed)
	c.mu.Unlock()

	c.loop.Close(ErrClosed) // it would ask, in vain and without a pause
	c.tasks.Wait()
	s.shutdown(closeSession)
	c.loop.Wait() // reads end with the connection
	c.sessions.Wait()
	c.report.close()
	close(c.closed)
}

// FullPath returns the path in the ensemble that path stands for: the chroot and path.
func (c *Client) FullPath(path string) string { return zkpath.Full(c.opts.Chroot, path) }

// present returns the present session; after Close it is the last one.
func (c *Client) present() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// State returns the state of c's session and a channel that is closed when that
// state next changes.
func (c *Client) State() (State, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.changed
}

// Expired returns a channel that is closed when the present session is over, because it
// has expired or c was closed. For the session after that, call Expired again.
func (c *Client) Expired() <-chan struct{} { return c.present().Done() }

// Conn returns the connection of the present session, for requests that this package
// does not have. Its methods block while there is no connection, and know no contexts.
// Its paths are those of the ensemble, see [Client.FullPath]. When the session is over
// its methods fail, and the next session has another Conn.
func (c *Client) Conn() *zk.Conn { return c.present().conn }

// set changes the state. It is called with c.mu held.
func (c *Client) set(state State) {
	if c.state == state || c.state == Closed {
		return
	}
	c.state = state
	close(c.changed)
	c.changed = make(chan struct{})
}

// change takes s to the state next, as become does.
func (c *Client) change(s *Session, next State, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.become(s, next, cause)
}

// become takes s to the state next, and c with it, in one step: a goroutine that sees the
// change of the one also sees that of the other. A session that is over, having become
// Expired or Closed for cause, stays so. It is called with c.mu held, when the change is
// learned of:
//
//   - Connected: from the wire, when a server serves the session;
//   - Suspended: from go-zookeeper, when it has lost the connection;
//   - Expired: from either of them, or from the answer to a request, if the ensemble says
//     so; otherwise from the lease, when keepLease or another looks at the clock;
//   - Closed: from Close.
//
// The holds are told first, and the loop next, which stops reading or reads again. So no
// state, no stream and no request shows the end of a session in which a hold does not yet
// know of its loss. Functions of the program hear of it later, from the reporter.
func (c *Client) become(s *Session, next State, cause error) {
	// What is learned twice, or late, changes nothing: the end of a connection, say, is
	// seen by go-zookeeper after the session has expired.
	if s.Err() != nil || next == Connected && s.gate.open || next == Suspended && !s.gate.open {
		return
	}
	if next == Expired || next == Closed {
		s.finish(cause)
	}
	if !s.suspension.IsZero() {
		c.report.session(c.report.trace.SuspendEnd, s.info(s.suspension, cause))
		s.suspension = time.Time{}
	}
	first := s.opened.IsZero()
	switch next {
	case Connected:
		s.lease.resumed()
		s.gate.open = true
		s.admit()
		s.lookUp() // a renewal may be due
		if first {
			s.opened = time.Now()
			s.beginLease()
			c.report.session(c.report.trace.SessionBegin, s.info(s.opened, nil))
		}
		c.loop.Resume(first)
		c.report.connected(s.info(s.wire.began, nil))
	case Suspended:
		s.gate.open = false
		s.suspension = time.Now()
		c.loop.Suspend()
		c.report.suspended(s.info(s.suspension, nil))
	case Expired:
		c.loop.Suspend()
		c.session = c.newSession()
		c.sessions.Go(func() { s.shutdown(false) })
		if s.id != 0 {
			c.past = append(c.past, s.id)
			c.past = c.past[max(0, len(c.past)-maxPast):]
		}
		if !first {
			c.report.expired(s.info(s.opened, cause))
		}
	}
	if s.Err() != nil && !first {
		c.report.session(c.report.trace.SessionEnd, s.info(s.opened, cause))
	}
	c.set(next)
}

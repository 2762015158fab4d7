package coord

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/watch"
)

// A Client is a program's connection to an ensemble. It outlives sessions: when
// one is over it opens the next. What was held in the old session is lost; what
// was only watched is watched again.
//
// A Client must come from [Dial]. Its methods are safe for concurrent use.
type Client struct {
	opts    *Options
	ring    *ring
	report  *reporter
	loop    *watch.Loop
	life    context.Context // ends with the cause ErrClosed when Close is called
	end     context.CancelCauseFunc
	closed  chan struct{} // closed when Close has done its work
	refused chan struct{} // holds a token when every server has refused us for good

	mu       sync.Mutex
	session  *Session // the present one; never nil
	state    State
	changed  chan struct{}  // closed and replaced when state changes
	sessions sync.WaitGroup // goroutines of sessions; added to with mu held until closed
	tasks    sync.WaitGroup // goroutines of recipes; added to with mu held until closed
	wants    int            // holds that are not over
	former   []int64        // the last sessions that were over, oldest first

	local sync.Map // what recipes keep; see Local
}

// Dial connects to an ensemble and returns once a session is established. The
// servers are given as host:port or host, the port then being 2181.
//
// If ctx ends first, or each server refuses the client in a way that trying again
// would not change, Dial leaves nothing behind and returns an [Error] that says of
// each server what was wrong with it, and finds that for errors.Is and errors.As:
// zk.ErrAuthFailed for credentials that a server refuses or requires, what
// crypto/tls says of a certificate. Once Dial has returned, ctx no longer matters.
func Dial(ctx context.Context, servers []string, opts *Options) (*Client, error) {
	o, err := opts.settled()
	if err != nil {
		return nil, &Error{Op: "dial", Err: err}
	}
	addrs, err := addresses(servers)
	if err != nil {
		return nil, &Error{Op: "dial", Err: err}
	}
	if ctx.Err() != nil {
		return nil, &Error{Op: "dial", Err: context.Cause(ctx)}
	}
	c := &Client{
		opts:    o,
		ring:    newRing(addrs),
		report:  newReporter(ctx, o),
		closed:  make(chan struct{}),
		refused: make(chan struct{}, 1),
		changed: make(chan struct{}),
	}
	c.life, c.end = context.WithCancelCause(context.Background())
	c.loop = watch.NewLoop(source{c})
	c.mu.Lock()
	c.session = c.newSession()
	c.mu.Unlock()
	if err := c.await(ctx); err != nil {
		why := c.ring.report()
		c.close(false)
		return nil, &Error{Op: "dial", Err: fmt.Errorf("%w (%w)", err, why)}
	}
	return c, nil
}

// await waits for the first session.
func (c *Client) await(ctx context.Context) error {
	for {
		state, changed := c.State()
		if state == Connected {
			return nil
		}
		select {
		case <-changed:
		case <-c.refused:
			if c.ring.hopeless() { // still
				return errHopeless
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close ends the session, and with it everything held in it, and waits for the
// goroutines of c and of all handles made from it. If the connection is down the
// ensemble learns of the end only by the session timeout. Close is idempotent and
// returns nil. It takes at most two seconds, plus the time spent in functions that
// the program gave to c or to a recipe. Do not call it from one of those, for each
// would wait for the other. The functions of a [Trace] and the handler of a Logger
// are the exception: see there.
func (c *Client) Close() error {
	c.close(true)
	return nil
}

// close does the work of Close, with a goodbye to the ensemble or without.
func (c *Client) close(goodbye bool) {
	defer c.report.wait()
	c.mu.Lock()
	if c.life.Err() != nil {
		c.mu.Unlock()
		<-c.closed
		return
	}
	s := c.session
	s.finish(ErrClosed) // first of all: this is what holders wait for
	c.end(ErrClosed)
	c.unsuspend(s, ErrClosed)
	c.set(Closed)
	c.mu.Unlock()

	c.loop.Close(ErrClosed) // it would ask, in vain and without a pause
	c.tasks.Wait()
	s.bury(goodbye)
	c.loop.Wait() // reads end with the connection
	c.sessions.Wait()
	c.report.close()
	close(c.closed)
}

// State returns the state of c's session and a channel that is closed when that
// state next changes.
func (c *Client) State() (State, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.changed
}

// Expired returns a channel that is closed when the present session is over, be
// it by expiry or by Close. Ask again for the next one.
func (c *Client) Expired() <-chan struct{} { return c.Session().Done() }

// Conn returns the connection of the present session, for requests that this
// module does not make. Its methods block while there is no connection, and
// ignore contexts; its paths are full ones, see [Client.FullPath]. When the
// session is over they fail, and the next session has another Conn.
func (c *Client) Conn() *zk.Conn { return c.Session().conn }

// set changes the state. It is called with c.mu held.
func (c *Client) set(state State) {
	if c.state == state || c.state == Closed {
		return
	}
	c.state = state
	close(c.changed)
	c.changed = make(chan struct{})
}

// over ends s, unless it is over, and opens the next session. It does so in one
// step: who sees s end finds the next one.
func (c *Client) over(s *Session, cause error) {
	c.mu.Lock()
	if s.life.Err() != nil {
		c.mu.Unlock()
		return
	}
	s.finish(cause)
	c.unsuspend(s, cause)
	c.set(Expired)
	c.loop.Suspend()
	c.session = c.newSession()
	c.sessions.Go(func() { s.bury(false) })
	id := s.ID()
	if id != 0 { // else it was never established
		c.former = append(c.former, id)
		c.former = c.former[max(0, len(c.former)-maxFormer):]
	}
	known, opened := s.known, s.opened
	c.mu.Unlock()
	if known {
		c.report.expired(s.info(opened, cause))
	}
}

// resumed notes that s is connected.
func (c *Client) resumed(s *Session, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.life.Err() != nil {
		return
	}
	anew := !s.known
	if anew {
		s.known, s.opened = true, time.Now()
		c.sessions.Go(s.watchLease)
	}
	c.loop.Resume(anew)
	c.set(Connected)
	c.unsuspend(s, nil)
	c.report.connected(s.info(began, nil))
}

// suspended notes that s has lost its connection.
func (c *Client) suspended(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.life.Err() != nil {
		return
	}
	c.loop.Suspend()
	c.set(Suspended)
	s.suspension = time.Now()
	c.report.suspended(s.info(s.suspension, nil))
}

// unsuspend notes that s is not suspended any longer, if it was. It is called with
// c.mu held.
func (c *Client) unsuspend(s *Session, why error) {
	if !s.suspension.IsZero() {
		c.report.session(c.report.trace.SuspendEnd, s.info(s.suspension, why))
		s.suspension = time.Time{}
	}
}

// failed notes why server gave us no session, for the log and for Dial. Once one
// has been established the client was welcome, and will perhaps be again.
func (c *Client) failed(server string, began time.Time, err error) {
	c.report.dialFailed(SessionInfo{Server: server, Begin: began, End: time.Now(), Err: err})
	c.ring.failed(server, err)
	if c.ring.hopeless() {
		select {
		case c.refused <- struct{}{}:
		default: // one is enough
		}
	}
}

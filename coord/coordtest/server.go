package coordtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

var errClosed = errors.New("coordtest: server is closed")

// A Server is a ZooKeeper server within the process. Its methods may be called
// at any time from any goroutine. After Close they tell how things were.
type Server struct {
	fatal func(format string, args ...any) // ends the test, if there is one
	start time.Time
	kick  chan struct{} // tells the clock to look again; a token waits for it
	done  chan struct{} // closed by Close
	wg    sync.WaitGroup

	links sync.Map // *coord.Client → *Link, for LinkOf

	mu       sync.Mutex // guards everything below, and the conns' own fields
	closed   bool
	listener net.Listener
	*replica            // of the servers that are current
	lagging  []*replica // in the order in which they began to
	stale    *replica   // of the leader that is isolated, if one is
	last     int64      // newest session
	lines    int        // Links made
	dialed   int        // connections made
	old      bool       // see Older

	frozen     int // Freezes not yet thawed
	held       []func()
	leaderless int      // Leaderless calls not yet healed
	undecided  []func() // what waits for a leader

	ordered bool // see Ordered
	arrived []arrival
	since   time.Duration // when the first of arrived has come
}

// NewServer returns a server that tb closes in its cleanup. It listens on no
// socket until Addr is called, so that it can be used in a testing/synctest
// bubble.
func NewServer(tb testing.TB) *Server {
	s := newServer()
	s.fatal = tb.Fatalf
	tb.Cleanup(s.Close)
	return s
}

// Start returns a server that listens on a loopback TCP port. The caller closes it.
func Start() (*Server, error) {
	s := newServer()
	s.mu.Lock()
	err := s.listen()
	s.mu.Unlock()
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func newServer() *Server {
	s := &Server{
		fatal: func(string, ...any) {},
		start: time.Now(),
		kick:  make(chan struct{}, 1),
		done:  make(chan struct{}),
	}
	s.replica = newReplica(s)
	s.last = 1 << 56 // as real ids are: large, and with the server's own id in front
	s.wg.Go(s.clock)
	return s
}

// Close hangs up on all connections and waits until all goroutines of the server have ended.
// It is idempotent. Sessions and data are gone for good.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
		if s.listener != nil {
			s.listener.Close()
		}
		for _, r := range s.replicas() {
			for c := range r.conns {
				c.drop()
			}
		}
		s.held = nil
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// Addr returns the loopback TCP address of the server, host:port. The first
// call starts listening; should that fail, Addr fails the test and returns "".
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		if err := s.listen(); err != nil {
			s.fatal("%v", err)
			return ""
		}
	}
	return s.listener.Addr().String()
}

// listen opens the TCP port. It is called with s.mu held.
func (s *Server) listen() error {
	if s.closed {
		return errClosed
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("coordtest: listen: %w", err)
	}
	s.listener = l
	s.wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return // closed
			}
			s.serve(nc, l.Addr().String(), 0)
		}
	})
	return nil
}

// Dial returns a connection to the server, in memory; network does not matter, and
// addr only to Isolate and Lag. It fails only if the server is closed or ctx has ended. The
// caller closes the connection.
func (s *Server) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return s.dial(ctx, network, addr, 0)
}

func (s *Server) dial(ctx context.Context, network, addr string, line int) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, server := net.Pipe()
	if !s.serve(server, addr, line) {
		client.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Err: errClosed}
	}
	return client, nil
}

// Link returns a new line to the server, in memory. The caller closes it; if
// the server is closed first, its connections end.
func (s *Server) Link() *Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines++
	line := s.lines
	return NewLink(func(ctx context.Context, network, addr string) (net.Conn, error) {
		return s.dial(ctx, network, addr, line)
	})
}

// Expire ends a session as if it had not been heard of for its timeout: its
// ephemeral nodes are deleted, watches fire and its connection is closed. On a
// frozen server that happens at the thaw, and while nobody leads when somebody does.
// Expire does nothing if there is no such session.
func (s *Server) Expire(session coord.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decide(func() {
		if ss := s.sessions[int64(session)]; ss != nil {
			s.expire(ss)
		}
	})
}

// Freeze stops the server as SIGSTOP would: connections are accepted and
// hang, and nothing is read, answered or expired until thaw is called. At the
// thaw sessions that are overdue expire first, whatever has arrived from them;
// the rest of what has arrived is executed, even if the client has hung up
// since. Freezes add up; calling thaw again does nothing.
func (s *Server) Freeze() (thaw func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.frozen--; s.frozen > 0 || s.closed {
			return
		}
		s.expireDue(s.now())
		held := s.held
		s.held = nil
		for _, f := range held {
			f()
		}
		s.wake()
	})
}

// do runs f now, or at the thaw. It is called with s.mu held, and so is f.
func (s *Server) do(f func()) {
	switch {
	case s.closed:
	case s.frozen > 0:
		s.held = append(s.held, f)
	default:
		f()
	}
}

// Older makes s a server of a version before 3.6, which knows no watches that stay: it
// hangs up on a client that asks for one. Those that are armed stay armed.
func (s *Server) Older() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.old = true
}

// Sessions returns the ids of the live sessions, sorted.
func (s *Server) Sessions() []coord.SessionID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []coord.SessionID
	for id := range s.sessions {
		ids = append(ids, coord.SessionID(id))
	}
	slices.Sort(ids)
	return ids
}

// Watches returns the number of armed watches. A connection that watches a
// znode's data and its existence has one watch, another one for its children. A
// watch that stays counts as two.
func (s *Server) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.watches.count()
	for _, r := range s.lagging {
		n += r.watches.count()
	}
	return n
}

// Tree lists the znodes outside /zookeeper for a person to read: a line for
// each, sorted by path, with data and, for ephemeral nodes, the session.
func (s *Server) Tree() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree.String()
}

// SetSequence sets the number that the next sequential node below path will
// have. It returns an error if there is no node at path.
func (s *Server) SetSequence(path string, n int32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree.nodes[path] == nil {
		return fmt.Errorf("coordtest: no node %q", path)
	}
	s.commit(func(r *replica) { r.tree.nodes[path].stat.Cversion = n })
	return nil
}

// Reap deletes the containers that have had children and have none now, as
// the server does each minute by itself. On a frozen server it does so at the thaw, and
// while nobody leads when somebody does.
func (s *Server) Reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decide(s.reap)
}

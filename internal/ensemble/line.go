package ensemble

import (
	"net"
	"strconv"
	"sync"
)

// A line carries what one server, as a follower, says to another as its leader,
// and back. It can fall silent, as a network does that loses everything.
type line struct {
	from, to int // nodes
	l        net.Listener
	target   string

	mu     sync.Mutex
	open   chan struct{} // closed unless the line is silent
	conns  []net.Conn
	closed bool
	work   sync.WaitGroup
}

func newLine(from, to, port int) (*line, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &line{from: from, to: to, l: l, target: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), open: make(chan struct{})}
	close(n.open)
	n.work.Go(n.accept)
	return n, nil
}

func (n *line) port() int { return n.l.Addr().(*net.TCPAddr).Port }

func (n *line) accept() {
	for {
		near, err := n.l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", n.target)
		if err != nil || !n.adopt(near, far) {
			near.Close()
			continue
		}
		n.work.Go(func() { n.carry(near, far) })
		n.work.Go(func() { n.carry(far, near) })
	}
}

func (n *line) adopt(near, far net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		far.Close()
		return false
	}
	n.conns = append(n.conns, near, far)
	return true
}

func (n *line) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		k, err := from.Read(buf)
		n.mu.Lock()
		open := n.open
		n.mu.Unlock()
		<-open
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:k]); err != nil {
			return
		}
	}
}

// silence holds everything back until heal is called, once.
func (n *line) silence() (heal func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	open := make(chan struct{})
	n.open = open
	return sync.OnceFunc(func() { close(open) })
}

// close ends the line. A silent one must have been healed.
func (n *line) close() {
	n.l.Close()
	n.mu.Lock()
	n.closed = true
	for _, c := range n.conns {
		c.Close()
	}
	n.mu.Unlock()
	n.work.Wait()
}

// Isolate has everything be lost between n and the other servers, in both
// directions, while clients still reach n, until heal is called. The ensemble
// must have been started with Options.Lines.
func (e *Ensemble) Isolate(n *Node) (heal func()) {
	var heals []func()
	for _, l := range e.lines {
		if e.nodes[l.from] == n || e.nodes[l.to] == n {
			heals = append(heals, l.silence())
		}
	}
	if heals == nil {
		panic("ensemble: Isolate without Options.Lines")
	}
	return func() {
		for _, heal := range heals {
			heal()
		}
	}
}

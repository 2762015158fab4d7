package coordtest

import (
	"context"
	"errors"
	"net"
	"sync"
)

var (
	errCut      = errors.New("coordtest: link is cut")
	errLinkDone = errors.New("coordtest: link is closed")
)

// A Direction is that of the frames on a Link.
type Direction uint8

const (
	ToServer Direction = 1 << iota // requests
	ToClient                       // replies and events
	Both     = ToServer | ToClient
)

// An Action is what happens to a frame.
type Action uint8

const (
	Pass          Action = iota // forward it
	Drop                        // lose it silently
	HangUp                      // reset the connection instead of forwarding it
	PassAndHangUp               // reset the connection when the peer has it
)

// A Link is a line between clients and a server, which forwards their
// connections frame by frame and breaks on demand. It works in front of any
// ZooKeeper server. The caller closes it.
type Link struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	wg   sync.WaitGroup // of the goroutines of all wires

	mu      sync.Mutex // guards everything below, and the wires
	change  *sync.Cond // something below has changed
	hook    func(Frame) Action
	hooking bool   // the hook runs: one frame at a time
	stalls  [2]int // Stalls not yet healed, by index of direction
	cuts    int    // Cuts not yet healed
	closed  bool
	wires   map[*wire]struct{}
	n       [2]int // frames so far, by index of direction
}

// NewLink returns a line to what dial reaches; nil means TCP.
func NewLink(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *Link {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	l := &Link{dial: dial, wires: make(map[*wire]struct{})}
	l.change = sync.NewCond(&l.mu)
	return l
}

// Dial connects to the server and returns the client's end, which is in
// memory: a Write returns as soon as the link has the bytes. While the link
// is stalled in either direction Dial waits, as for a lost SYN; ctx bounds that.
// It fails at once if the link is cut or closed. The caller closes the connection.
func (l *Link) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) { return nil, &net.OpError{Op: "dial", Net: network, Err: err} }
	if err := l.passable(ctx); err != nil {
		return fail(err)
	}
	upstream, err := l.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.broken(); err != nil { // meanwhile
		upstream.Close()
		return fail(err)
	}
	client, near := net.Pipe()
	w := &wire{link: l, conns: [2]net.Conn{upstream, near}}
	l.wires[w] = struct{}{}
	for _, d := range []Direction{ToServer, ToClient} {
		l.wg.Go(func() { w.read(d) })
		l.wg.Go(func() { w.forward(d) })
	}
	return client, nil
}

// passable waits until the link is not stalled.
func (l *Link) passable(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.change.Broadcast()
	})
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if err := l.broken(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.stalls == [2]int{} {
			return nil
		}
		l.change.Wait()
	}
}

func (l *Link) broken() error {
	switch {
	case l.closed:
		return errLinkDone
	case l.cuts > 0:
		return errCut
	}
	return nil
}

// Stall holds back, silently and in order, all that travels in direction d
// from now on, hang-ups included, and makes new connections wait. heal
// delivers it, except for what was sent to the server on connections that
// the client has closed since: that is lost. Stalls add up; calling heal again
// does nothing.
func (l *Link) Stall(d Direction) (heal func()) {
	add := func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i := range l.stalls {
			if d&(1<<i) != 0 {
				l.stalls[i] += n
			}
		}
		for w := range l.wires {
			w.abandon()
		}
		l.change.Broadcast()
	}
	add(1)
	return sync.OnceFunc(func() { add(-1) })
}

// Cut resets all connections and refuses new ones until heal. Cuts add up;
// calling heal again does nothing.
func (l *Link) Cut() (heal func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cuts++
	l.reset()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.cuts--
	})
}

// Reset hangs up on both ends of all present connections; what was under way
// on them is lost. New connections work.
func (l *Link) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reset()
}

func (l *Link) reset() {
	for w := range l.wires {
		w.hangUp()
	}
	l.change.Broadcast() // also to Dials that wait
}

// OnFrame has hook called for every whole frame before it is forwarded, one at
// a time and in the order of forwarding; nil removes the hook. The hook may
// call methods of the Link except Close, and of the server: if it stalls the
// frame's direction, a frame that it passes is held back with the others.
func (l *Link) OnFrame(hook func(Frame) Action) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hook = hook
}

// Close resets all connections and waits for the goroutines of the Link.
// Later Dials fail. It is idempotent.
func (l *Link) Close() {
	l.mu.Lock()
	l.closed = true
	l.reset()
	l.mu.Unlock()
	l.wg.Wait()
}

package sim

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A line is a client's end of a connection, over which frames take time.
//
// In every span of so many nanoseconds as there are slots, each client has one at which it
// may be heard, and one at which it may hear something. No two clients have the same one, and
// nothing else happens then. So it is decided by time, and not by the scheduler, in which
// order the server sees the frames of different clients, and in which order a client sees
// what comes and what it does by itself.
//
// Within a client, goroutines run in no order that could be repeated, so each order is as
// good: what they write at one moment is sorted. And what comes together is delivered
// together, so that what a client answers to it is written at one moment.
type line struct {
	net.Conn // of the link
	c        *client

	mu    sync.Mutex // guards the rest
	heard *sync.Cond // in or err has changed
	out   []sent
	under []byte // on its way
	in    []byte // to be read
	ended error  // why no more will come
	err   error  // the same, once all has been delivered
	n     [2]int // frames, there and back

	written chan struct{} // holds a token if there is something to send
	arrived chan struct{} // holds a token if there is something to deliver
	closed  chan struct{}
	close   sync.Once
}

// A sent is a frame and when it was written.
type sent struct {
	at    time.Time
	frame []byte
}

const (
	leastLatency = 100 * time.Microsecond
	mostLatency  = 2 * time.Millisecond
	slots        = 2 * (maxClients + 1)
)

// newLine returns a line over conn.
func newLine(c *client, conn net.Conn) *line {
	l := &line{Conn: conn, c: c, written: make(chan struct{}, 1), arrived: make(chan struct{}, 1), closed: make(chan struct{})}
	l.heard = sync.NewCond(&l.mu)
	c.w.lines.Go(l.send)
	c.w.lines.Go(l.receive)
	c.w.lines.Go(l.deliver)
	return l
}

// Write implements [net.Conn]. It takes whole frames.
func (l *line) Write(b []byte) (int, error) {
	select {
	case <-l.closed:
		return 0, net.ErrClosed
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for in := bytes.NewReader(b); in.Len() > 0; {
		frame, err := jute.ReadFrame(in, maxFrame)
		if err != nil {
			return 0, err
		}
		l.out = append(l.out, sent{time.Now(), frame})
	}
	wake(l.written)
	return len(b), nil
}

// Read implements [net.Conn].
func (l *line) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.in) == 0 && l.err == nil {
		l.heard.Wait()
	}
	if len(l.in) == 0 {
		return 0, l.err
	}
	n := copy(b, l.in)
	l.in = l.in[n:]
	return n, nil
}

// Close implements [net.Conn].
func (l *line) Close() error {
	l.close.Do(func() { close(l.closed) })
	err := l.Conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = net.ErrClosed
	l.heard.Broadcast()
	return err
}

// send sends what is written, until the line is closed.
func (l *line) send() {
	for {
		select {
		case <-l.written:
		case <-l.closed:
			return
		}
		l.sleep(0, l.c.n)
		l.mu.Lock()
		out := l.out
		l.out = nil
		l.mu.Unlock()
		arrange(out)
		for _, x := range out {
			if _, err := l.Conn.Write(jute.Frame(x.frame)); err != nil {
				break // the reader will find out
			}
		}
	}
}

// maxFrame is more bytes than a frame has here.
const maxFrame = 1 << 24

// receive receives frames until the connection ends.
func (l *line) receive() {
	for {
		frame, err := jute.ReadFrame(l.Conn, maxFrame)
		l.mu.Lock()
		if l.ended = err; err == nil {
			l.under = append(l.under, jute.Frame(frame)...)
		}
		l.mu.Unlock()
		wake(l.arrived)
		if err != nil {
			return
		}
	}
}

// deliver delivers what has come, and at last that no more will, until the line is closed.
func (l *line) deliver() {
	for {
		select {
		case <-l.arrived:
		case <-l.closed:
			return
		}
		l.sleep(1, slots/2+l.c.n)
		l.mu.Lock()
		l.in, l.under = append(l.in, l.under...), nil
		l.err = l.ended
		l.heard.Broadcast()
		l.mu.Unlock()
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sleep waits for as long as a frame in a direction is under way, until a slot.
func (l *line) sleep(dir, slot int) {
	l.mu.Lock()
	l.n[dir]++
	n := l.n[dir]
	l.mu.Unlock()
	now := time.Duration(time.Now().UnixNano())
	random := hash(l.c.w.script.Seed, uint64(l.c.n), uint64(dir), uint64(n), uint64(now)) % uint64(mostLatency-leastLatency)
	at := now + leastLatency + time.Duration(random)
	time.Sleep(at/slots*slots + slots + time.Duration(slot) - now)
}

// arrange sorts the requests that were written at the same time, by what they ask for, with
// heartbeats in front. Others, such as handshakes, stay where they are, and so does what is
// before them and behind them.
func arrange(out []sent) {
	what := make(map[int32]string) // by the numbers of requests
	for _, x := range out {
		d := jute.NewDecoder(x.frame)
		switch h := d.RequestHeader(); h.Op {
		case jute.OpCreate, jute.OpCreateContainer, jute.OpDelete, jute.OpSetData, jute.OpExists, jute.OpGetData, jute.OpGetChildren2, jute.OpSync:
			what[h.Xid] = fmt.Sprint(d.String(), h.Op)
		case jute.OpMulti:
			what[h.Xid] = paths(d)
		case jute.OpPing:
			what[h.Xid] = "-"
		}
	}
	of := func(x sent) string { return what[jute.NewDecoder(x.frame).RequestHeader().Xid] }
	for from := 0; from < len(out); {
		to := from
		for to < len(out) && out[to].at.Equal(out[from].at) && of(out[to]) != "" {
			to++
		}
		slices.SortStableFunc(out[from:to], func(a, b sent) int { return strings.Compare(of(a), of(b)) })
		from = max(to, from+1)
	}
}

// paths returns the paths of a multi, the last first: what comes first may have a random
// name, and the last one that others know.
func paths(d *jute.Decoder) (all string) {
	for h := d.MultiHeader(); !h.Done && !d.Bad(); h = d.MultiHeader() {
		switch h.Op {
		case jute.OpCreate, jute.OpCreateContainer:
			all = d.Create().Path + " " + all
		case jute.OpSetData:
			all = d.SetData().Path + " " + all
		default:
			all = d.Versioned().Path + " " + all
		}
	}
	return all
}

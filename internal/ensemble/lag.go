package ensemble

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
)

// Lag makes a follower do what its leader commits only when heal is called. It hears
// the leader's pings all the same, answers them, logs what is proposed, and asks which
// sessions live: its leader has no reason to give it up. A follower is like that when it is
// slow to apply: because of a long read, many commits or the garbage collector.
//
// The ensemble must have been started with Options.Relays, and n must follow.
func (e *Ensemble) Lag(n *Node) (heal func()) {
	if e.relays == nil {
		panic("ensemble: Lag without Options.Relays")
	}
	relays := e.relays[slices.Index(e.nodes, n)]
	for _, r := range relays {
		r.hold(+1)
	}
	return sync.OnceFunc(func() {
		for _, r := range relays {
			r.hold(-1)
		}
	})
}

// relay makes a relay from each server to each other one, which leads perhaps.
func (e *Ensemble) relay(seats []seat) error {
	e.relays = make([][]*relay, len(seats))
	for i := range seats {
		e.relays[i] = make([]*relay, len(seats))
		for j, leader := range seats {
			if i == j {
				continue
			}
			l, err := net.Listen("tcp", net.JoinHostPort(leader.host, "0"))
			if err != nil {
				return fmt.Errorf("relay: %w", err)
			}
			r := &relay{listener: l, leader: net.JoinHostPort(leader.host, strconv.Itoa(leader.quorum))}
			e.relays[i][j] = r
			r.serving.Go(r.serve)
		}
	}
	return nil
}

// A relay passes the connections of one server on to another one, which leads. A nil
// relay is that of a server to itself.
type relay struct {
	listener net.Listener
	leader   string // its address
	serving  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	holds  int
	lines  []*line
}

// A line is one connection of a relay. The relay's mutex guards it.
type line struct {
	follower, leader net.Conn
	held             []byte // packets for the follower
}

func (r *relay) port() int { return r.listener.Addr().(*net.TCPAddr).Port }

// hold changes how many there are that hold up the follower.
func (r *relay) hold(n int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holds += n; r.holds > 0 {
		return
	}
	for _, l := range r.lines {
		_, _ = l.follower.Write(l.held) // if it fails the follower is gone
		l.held = nil
	}
}

// serve takes connections until the relay is closed.
func (r *relay) serve() {
	for {
		follower, err := r.listener.Accept()
		if err != nil {
			return
		}
		leader, err := net.Dial("tcp", r.leader)
		if err != nil {
			follower.Close() // it does not lead, and the follower tries again
			continue
		}
		l := &line{follower: follower, leader: leader}
		r.mu.Lock()
		if r.closed {
			l.end()
		}
		r.lines = append(r.lines, l)
		r.serving.Go(func() {
			_, _ = io.Copy(leader, follower)
			l.end()
		})
		r.serving.Go(func() {
			r.lead(l)
			l.end()
			r.mu.Lock()
			defer r.mu.Unlock()
			r.lines = slices.DeleteFunc(r.lines, func(other *line) bool { return other == l })
		})
		r.mu.Unlock()
	}
}

// end closes both ends, which wakes those who read from them.
func (l *line) end() {
	l.follower.Close()
	l.leader.Close()
}

// close ends the relay and waits for that.
func (r *relay) close() {
	if r == nil {
		return
	}
	r.listener.Close()
	r.mu.Lock()
	r.closed = true
	for _, l := range r.lines {
		l.end()
	}
	r.mu.Unlock()
	r.serving.Wait()
}

// Types of packets from a leader.
const (
	commitPacket = 4
	syncPacket   = 7
	snapPacket   = 15
)

// snapEnd is behind a snapshot, which is no packet.
var snapEnd = []byte("\x00\x00\x00\x0aBenWasHere")

// lead passes on what the leader sends, or holds it back, until the connection ends.
func (r *relay) lead(l *line) {
	in := bufio.NewReader(l.leader)
	for {
		kind, packet, err := readPacket(in)
		if err != nil {
			return
		}
		r.mu.Lock()
		if r.holds > 0 && (kind == commitPacket || kind == syncPacket) {
			l.held = append(l.held, packet...)
		} else {
			_, err = l.follower.Write(packet)
		}
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// readPacket reads a packet, and the snapshot that follows if it announces one.
func readPacket(in *bufio.Reader) (kind int32, packet []byte, err error) {
	number := func() (n int32) {
		if err == nil {
			var b [4]byte
			_, err = io.ReadFull(in, b[:])
			packet = append(packet, b[:]...)
			n = int32(binary.BigEndian.Uint32(b[:]))
		}
		return n
	}
	bytesOf := func(n int32) {
		if err == nil && n > 0 {
			b := make([]byte, n)
			_, err = io.ReadFull(in, b)
			packet = append(packet, b...)
		}
	}
	kind = number()
	bytesOf(8)                                    // zxid
	bytesOf(number())                             // data
	for n := number(); n > 0 && err == nil; n-- { // identities
		bytesOf(number()) // scheme
		bytesOf(number()) // id
	}
	for kind == snapPacket && err == nil && !bytes.HasSuffix(packet, snapEnd) {
		var b byte
		b, err = in.ReadByte()
		packet = append(packet, b)
	}
	return kind, packet, err
}

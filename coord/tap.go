package coord

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Numbers of the wire protocol.
const (
	xidEvent = -1
	xidPing  = -2
	xidAuth  = -4

	opCreate          = 1
	opDelete          = 2
	opSetData         = 5
	opSetACL          = 7
	opSync            = 9
	opPing            = 11
	opMulti           = 14
	opCreateContainer = 19
	opCreateTTL       = 21
	opSetAuth         = 100
	opSetWatches      = 101

	codeExpired         = -112
	codeMoved           = -118
	codeUnauthenticated = -124

	maxFrame = 64 << 20 // more than any answer: 100,000 children take 5 MiB
)

// A tap sits between go-zookeeper and one connection and sees every frame. The
// client library writes each frame with one Write, so frames need no
// reassembling on the way out; on the way in, the tap reads them whole.
//
// It notes when each request was written, which was answered, and whether the
// answer has passed the leader: that is the lease. And it changes what the library believes in three ways:
//
//   - The library is told half the session timeout, so that it sends
//     heartbeats twice as often and gives up on a silent server twice as early;
//     the server is told the true one.
//   - The library's record of the newest zxid races with its own reading of it
//     at a reconnect, which can lose events for good. So it is never told a
//     zxid; the tap keeps the record and puts it in where the library sends it.
//   - Credentials are presented by the tap, directly behind the handshake,
//     because the library deadlocks if the connection fails while it does.
type tap struct {
	net.Conn
	s      *Session
	server string
	by     time.Time // when the handshake must be over
	seen   int64     // the newest zxid that the session had seen when this connection was made

	// Owned by whoever reads: the library's connect loop in the handshake, then
	// its receive loop.
	in      *bufio.Reader
	frame   []byte // of the frame in hand, what was not read yet
	greeted bool   // the handshake's answer has been read
	welcome bool   // and the answer to what was asked behind it

	out chan struct{} // holds a token while something is written

	mu     sync.Mutex
	asked  time.Time         // when the handshake was written; zero before that
	sent   map[int32]request // not answered yet, heartbeats aside
	pings  []time.Time       // heartbeats not answered yet, oldest first
	logins []string          // schemes presented and not answered yet, oldest first
}

// A request is one that was written.
type request struct {
	at      time.Time
	proof   bool         // its answer passes the leader
	watches *[3][]string // of a SetWatches: the paths for data, existence and children
}

// passesLeader reports whether requests of kind op go to the leader, whichever
// server takes them: writes and syncs. The others a follower answers by itself.
func passesLeader(op int32) bool {
	switch op {
	case opCreate, opDelete, opSetData, opSetACL, opSync, opMulti, opCreateContainer, opCreateTTL:
		return true
	}
	return false
}

func newTap(s *Session, conn net.Conn, server string, by time.Time) *tap {
	return &tap{
		Conn:   conn,
		s:      s,
		server: server,
		by:     by,
		seen:   s.lastZxid(),
		in:     bufio.NewReaderSize(conn, 16<<10),
		out:    make(chan struct{}, 1),
		sent:   make(map[int32]request),
	}
}

// waiting returns for how long the oldest request has been without an answer.
func (t *tap) waiting() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var oldest time.Duration
	for _, r := range t.sent {
		oldest = max(oldest, since(r.at))
	}
	if len(t.pings) > 0 {
		oldest = max(oldest, since(t.pings[0]))
	}
	return oldest
}

// hangUp closes the connection at once. With TCP, what has not been delivered is
// thrown away: a request that was given up must not arrive much later.
func (t *tap) hangUp() {
	conn := t.Conn
	if c, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = c.NetConn()
	}
	if c, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0) // best effort: closed it is in any case
	}
	_ = conn.Close() // the only answer would be that it was closed already
}

// flushed waits until nothing is being written, and reports whether it was so before
// ctx ended.
func (t *tap) flushed(ctx context.Context) bool {
	select {
	case t.out <- struct{}{}:
		<-t.out
		return true
	case <-ctx.Done():
		return false
	}
}

// Close implements [net.Conn].
func (t *tap) Close() error {
	t.hangUp()
	return nil
}

// SetReadDeadline implements [net.Conn]. The library would wait ten times too
// long for the handshake, and without end for the second half of its answer.
func (t *tap) SetReadDeadline(d time.Time) error {
	if !t.greeted {
		d = t.by
	}
	return t.Conn.SetReadDeadline(d)
}

// SetWriteDeadline implements [net.Conn].
func (t *tap) SetWriteDeadline(d time.Time) error {
	if !t.greeted {
		d = t.by
	}
	return t.Conn.SetWriteDeadline(d)
}

// Write implements [net.Conn]. It takes one frame.
func (t *tap) Write(b []byte) (int, error) {
	if len(b) < 12 {
		return 0, fmt.Errorf("coord: frame of %d bytes", len(b)) // no request is that short
	}
	now := time.Now()
	t.mu.Lock()
	first := t.asked.IsZero()
	if first {
		t.asked = now
	} else if xid := int32(binary.BigEndian.Uint32(b[4:])); xid == xidPing {
		t.pings = append(t.pings, now)
	} else {
		op := int32(binary.BigEndian.Uint32(b[8:]))
		r := request{at: now, proof: passesLeader(op)}
		if op == opSetWatches {
			r.watches = watchesIn(b)
		}
		t.sent[xid] = r
	}
	t.mu.Unlock()

	out := b
	switch op := int32(binary.BigEndian.Uint32(b[8:])); {
	case first && len(b) >= 20: // length, version, newest zxid, timeout, session, password
		out = append([]byte(nil), b...)
		binary.BigEndian.PutUint64(out[8:], uint64(t.seen))
		binary.BigEndian.PutUint32(out[16:], uint32(t.s.c.opts.SessionTimeout/time.Millisecond))
	case !first && op == opSetWatches && len(b) >= 20: // length, xid, op, newest zxid, paths
		out = append([]byte(nil), b...)
		binary.BigEndian.PutUint64(out[12:], uint64(t.seen))
	}
	t.out <- struct{}{}
	_, err := t.Conn.Write(out)
	<-t.out
	if err != nil {
		t.hangUp()
		if first {
			t.s.readFailed(t, err)
			return 0, err
		}
		// The library will see the reads fail. Were it told here, it would answer
		// the request for this, and again for the end of the connection; with the
		// answer that a Close of its own has given before these are more than it
		// has room for, and it would stand still for good.
	}
	return len(b), nil
}

// Read implements [net.Conn].
func (t *tap) Read(b []byte) (int, error) {
	for len(t.frame) == 0 {
		frame, err := t.next()
		if err != nil {
			t.s.readFailed(t, err)
			return 0, err
		}
		t.frame = frame
	}
	n := copy(b, t.frame)
	t.frame = t.frame[n:]
	return n, nil
}

// next reads a frame and returns what the library shall see of it, if anything.
func (t *tap) next() ([]byte, error) {
	head, err := t.in.Peek(4)
	if err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head)
	if size < 16 || size > maxFrame { // the shortest is a reply without a body
		return nil, mangled(head)
	}
	frame := make([]byte, 4+size)
	if _, err := io.ReadFull(t.in, frame); err != nil {
		return nil, err
	}
	if !t.greeted {
		return t.greet(frame)
	}
	xid := int32(binary.BigEndian.Uint32(frame[4:]))
	zxid := int64(binary.BigEndian.Uint64(frame[8:]))
	if xid == xidEvent {
		return frame, nil
	}
	t.mu.Lock()
	var r request
	var login string
	switch {
	case xid == xidPing && len(t.pings) > 0:
		r.at, t.pings = t.pings[0], t.pings[1:]
	case xid == xidAuth && len(t.logins) > 0:
		login, t.logins = t.logins[0], t.logins[1:]
	case xid >= 0:
		r = t.sent[xid]
		delete(t.sent, xid)
	}
	t.mu.Unlock()
	code := int32(binary.BigEndian.Uint32(frame[16:]))
	if code == codeExpired || code == codeMoved {
		r.proof = false // of the contrary
	}
	if err := denied(login, code); err != nil {
		return nil, err
	}
	if xid < 0 { // go by the library's example, which takes no zxid from these
		zxid = 0
	}
	t.s.heard(r, zxid)
	t.answered(xid, code)
	if r.watches != nil {
		if code != 0 { // the library would go on as if they were armed
			return nil, fmt.Errorf("watches not taken over by the server: code %d", code)
		}
		t.s.c.loop.Rearmed(r.watches[0], r.watches[1], r.watches[2])
	}
	if login != "" {
		return nil, nil
	}
	binary.BigEndian.PutUint64(frame[8:], 0)
	return frame, nil
}

package coord

import (
	"encoding/binary"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// The session's requests are numbered from ownXids on, and go-zookeeper's below that: see
// [tappedConn.request].
const ownXids = 1 << 30

// maxBatch is the most bytes that are put together for one write, unless one request
// alone has more.
const maxBatch = 32 << 10

// roomForBatch is how many bytes of room for a write are kept for the next.
const roomForBatch = 1 << 10

// send has q written, behind all that was sent before. Nothing blocks: when the line does
// not take more it is the writer that waits. It is called with c.mu held.
//
// There is no writer while there is nothing to write, so an idle connection costs none.
func (t *tappedConn) send(q *call) {
	t.queue(q)
	t.startWriter()
}

// queue leaves q to the writer. It is called with c.mu held, and followed by startWriter,
// or by claim.
func (t *tappedConn) queue(q *call) {
	q.stage = admitted
	q.report.sent(t.s)
	t.out = append(t.out, q)
}

// startWriter makes sure that what is in t.out will be written. It is called with c.mu
// held.
func (t *tappedConn) startWriter() {
	if len(t.out) > 0 && !t.busy {
		t.busy = true
		t.s.c.sessions.Go(t.flush)
	}
}

// recall takes q back, which is not written yet. It is called with c.mu held.
func (t *tappedConn) recall(q *call) {
	i := slices.Index(t.out, q)
	t.out = slices.Delete(t.out, i, i+1)
}

// flush writes what is sent, until there is no more. What has come together meanwhile
// goes out in one piece.
func (t *tappedConn) flush() {
	for more := true; more; {
		t.writing <- struct{}{} // between two pieces it is go-zookeeper's turn
		t.s.c.mu.Lock()
		b := t.batch()
		if b == nil {
			t.busy, more = false, false
		}
		t.s.c.mu.Unlock()
		var err error
		if more {
			err = t.write(b)
		}
		<-t.writing
		if err != nil {
			t.abort() // whoever reads will say that the connection is lost
			return
		}
	}
}

// batch notes that the oldest of what is sent is written as of now, and returns it;
// nil if there is nothing. It is called with c.mu held.
func (t *tappedConn) batch() []byte {
	if len(t.out) == 0 {
		return nil
	}
	b, n, at := t.room[:0], 0, now()
	for _, q := range t.out {
		if n > 0 && len(b)+len(q.frame) > maxBatch {
			break
		}
		xid, head := jute.XidPing, len(b)+4
		if q.op != jute.OpPing {
			t.xid = ownXids | (t.xid+1)&(ownXids-1)
			xid = t.xid
		}
		b = append(b, q.frame...)
		binary.BigEndian.PutUint32(b[head:], uint32(xid))
		q.stage = written
		t.note(at, request{xid: xid, op: q.op, size: len(q.frame), call: q})
		n++
	}
	t.out = slices.Delete(t.out, 0, n)
	if t.room = b[:0]; cap(b) > roomForBatch {
		t.room = nil
	}
	return b
}

// lost notes that the connection has ended. The requests on it that have not been
// answered are over; those that have not been written wait for the next connection.
func (t *tappedConn) lost() {
	s := t.s
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if t.ended {
		return
	}
	t.ended = true
	if s.wire == t {
		s.c.become(s, Suspended, nil) // first: what ends now must not be asked for again on this connection
	}
	var again []*call
	for _, q := range t.out {
		if q.own {
			s.conclude(q, answer{err: zk.ErrConnectionClosed})
			continue
		}
		q.stage = asked
		again = append(again, q)
	}
	t.out = nil
	s.gate.readmit(again)
	for _, r := range t.sent {
		if r.call != nil {
			s.conclude(r.call, answer{err: zk.ErrConnectionClosed, sent: true})
		}
	}
	t.sent = nil
}

// unsent ends the requests that have not been written, because the session is over for
// cause. It is called with c.mu held.
func (t *tappedConn) unsent(cause error) {
	for _, q := range t.out {
		t.s.conclude(q, answer{err: cause})
	}
	t.out = nil
}

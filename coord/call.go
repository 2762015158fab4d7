package coord

import (
	"context"
	"fmt"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A purpose says of a request what is asked for, in the words of a [RequestInfo].
type purpose struct{ op, path string }

// A call is one request that the session makes, from when it is asked for until it is
// over. Nobody but the session knows of it: it is written behind go-zookeeper's back, and
// the answer is taken before go-zookeeper sees it. What it costs is itself, its frame,
// and a channel.
//
// It is guarded by c.mu, but for what does not change. When over is closed, answer does
// not change any more either.
type call struct {
	op jute.Op
	// frame is what to write, but for the xid. It is not written to, so that the next
	// call can have it as well.
	frame []byte
	// watch is the path on which the request arms a watch, "" if it arms none.
	watch string
	// own says that the session itself makes the request, for the sake of one
	// connection: it is not made on another, does not wait for its turn, and that the
	// ensemble refuses it is an answer like any other.
	own bool
	// then, if not nil, is called with the answer, and with c.mu held.
	then func(answer)

	report *requestReport
	stage  callStage
	over   chan struct{} // nil if nobody waits
	answer answer
}

// A callStage is how far a call has come.
type callStage uint8

const (
	// asked: it waits at the gate.
	asked callStage = iota
	// admitted: it waits for the connection's writer, and can still be taken back.
	admitted
	// written: it may be carried out.
	written
	// answered: it is over, with an answer or without.
	answered
)

// An answer is what has become of a call.
type answer struct {
	body []byte // behind the header; there may be one although there is an error
	err  error  // what the ensemble says against it, or why there is no answer
	sent bool   // it was written, so without an answer nobody knows
}

// newCall returns a call of frame, which is a whole one. The ctx is for the report.
func (s *Session) newCall(ctx context.Context, p purpose, frame []byte) *call {
	return &call{
		op:     jute.NewDecoder(frame[4:]).RequestHeader().Op,
		frame:  frame,
		report: s.c.report.request(ctx, p),
		over:   make(chan struct{}),
	}
}

// start asks for q, and never blocks. The requests of a session are made in the order in
// which they are started. Sooner or later q is over: at the latest when the connection
// ends on which it was written; or, if it was not written, the session.
func (s *Session) start(q *call) {
	if wire, b := s.enter(q); b != nil {
		wire.writeDirect(b)
	}
}

// enter does the work of start, but for what there is to write, which it returns, and the
// connection to write it to.
func (s *Session) enter(q *call) (*tappedConn, []byte) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if len(q.frame)-4 > maxRequest {
		s.conclude(q, answer{err: fmt.Errorf("%w: %d bytes: servers take %d", ErrTooLarge, len(q.frame)-4, maxRequest)})
		return nil, nil
	}
	if err := s.Err(); err != nil {
		s.conclude(q, answer{err: err})
		return nil, nil
	}
	s.gate.enter(q)
	if q := s.gate.next(); q != nil {
		s.wire.queue(q)
		return s.wire, s.wire.claim()
	}
	return nil, nil
}

// admit hands the connection what the gate lets in. It is called with c.mu held,
// whenever that may be more than before.
func (s *Session) admit() {
	for q := s.gate.next(); q != nil; q = s.gate.next() {
		s.wire.send(q)
	}
}

// conclude ends q. It is called with c.mu held, and followed by admit unless the gate is
// not open.
func (s *Session) conclude(q *call, a answer) {
	if !q.own && (q.stage == admitted || q.stage == written) {
		s.gate.exit()
	}
	q.stage, q.answer = answered, a
	if q.then != nil {
		q.then(a)
	}
	if err := a.err; q.own && refused(err) {
		q.report.ended(nil)
	} else {
		q.report.ended(err)
	}
	if q.over != nil {
		close(q.over)
	}
}

// withdraw takes q back for the reason err, if it is not too late: it is then not made,
// now or later. Otherwise it goes on, with nobody to wait for it. withdraw returns the
// answer that the caller has to go by.
func (s *Session) withdraw(q *call, err error) answer {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	switch q.stage {
	case answered: // in the meantime
		return q.answer
	case written:
		q.report.ended(err)
		q.report = nil // the answer is not reported
		return answer{err: err, sent: true}
	case asked:
		s.gate.cancel(q)
	case admitted:
		s.wire.recall(q)
	}
	s.conclude(q, answer{err: err})
	s.admit()
	return q.answer
}

// ask makes one request, and waits for what becomes of it. It returns as soon as ctx
// ends, with its cause, and as soon as s is over, with its Err. An answer that is there
// counts, even if ctx or s has ended as well.
func (s *Session) ask(ctx context.Context, p purpose, frame []byte) answer {
	q := s.newCall(ctx, p, frame)
	return s.await(ctx, q)
}

// await starts q, and waits for it as [Session.ask] does.
func (s *Session) await(ctx context.Context, q *call) answer {
	if ctx.Err() != nil {
		a := answer{err: s.c.ctxErr(ctx)}
		q.report.ended(a.err)
		return a
	}
	s.start(q)
	select {
	case <-q.over:
		return q.answer
	case <-ctx.Done():
		return s.withdraw(q, s.c.ctxErr(ctx))
	case <-s.Done():
		return s.withdraw(q, s.Err())
	}
}

package coord

import (
	"context"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A Token orders the holders of one path: of two, the later has the greater. A
// store that remembers the greatest token it has seen and refuses lesser ones is
// safe from a holder that does not know that it has lost.
//
// It is the id of the transaction that created the holder's znode, so tokens
// stay in order even if the directory is deleted and made anew. The zero Token is
// never given out. Fencing tokens are described in Martin Kleppmann's "How to do
// distributed locking".
type Token int64

// A Hold is something held in the ensemble, such as a lock or a membership, from
// the moment it is asked for until the last trace of it is gone.
//
// Its channels carry nothing: each is closed at most once and stays closed. Its
// methods are safe for concurrent use and may be called at any time. A Hold is
// used once; when it is over, ask for another.
type Hold struct {
	c        *Client
	op, path string
	ctx      context.Context // of the operation, for its values
	counted  bool            // the client has it among its holds
	acquired chan struct{}
	lost     chan struct{}
	done     chan struct{}
	release  chan struct{}     // closed by Release
	work     context.Context   // ends, with Err as cause, when err is set
	stop     func(cause error) // ends work
	mu       sync.Mutex
	session  *Session // in which it is held; nil until acquired
	node     string   // the full path of the znode that its Guard checks; "" if there is none
	token    Token
	err      error    // the one cause; set once
	leftover error    // why the znode could not be removed
	asked    bool     // release is closed
	info     HoldInfo // as reported; guarded by mu once others know h
}

// Acquired returns a channel that is closed when h is held.
func (h *Hold) Acquired() <-chan struct{} { return h.acquired }

// Lost returns a channel that is closed when h was held and can no longer be
// relied on, though it was not released: stop now.
//
// If the link to the ensemble breaks, or the ensemble falls apart, it is closed
// before the ensemble can let another have what h held. That cannot be promised to
// a program that does not run, because it is stopped or its machine sleeps, nor if
// somebody deletes the znode, closes the session by hand, or lowers the ensemble's
// session timeouts; see [Options]. Then the next holder may be first to hear. What
// a holder then still writes is what [Hold.Token] and [Hold.Guard] are for.
//
// A machine that has slept is noticed by the clocks: on Linux by the one that
// counts sleep, elsewhere by the wall clock, so that there a clock that is set
// forward ends what is held.
//
// A Hold that is released first is never lost. After a loss Done soon closes as
// well: a select over both should look at Done only until h is acquired.
func (h *Hold) Lost() <-chan struct{} { return h.lost }

// Done returns a channel that is closed when h is over: nothing more will happen
// on its account, and its znode is gone, or goes with the session, which is over
// as far as the client is concerned.
func (h *Hold) Done() <-chan struct{} { return h.done }

// Err returns nil while h is sought or held, and then the one cause why it no
// longer is: an [*Error] around [ErrReleased], [ErrExpired], [ErrDeleted],
// [ErrRevoked], [ErrLocked], [ErrExhausted], [ErrClosed], the cause of the ctx
// that ended while h was sought, or the ensemble's refusal. Its Op is "lost" if h
// was held and is lost, "release" if it was released, and otherwise what was asked
// for, such as "acquire". Servers that turn the
// client away do not end h, for another may serve it, or the same one later; but
// if h ends meanwhile without having been held, Err says what they say.
//
// Err itself looks at the clock. After its program has been stopped for a while
// it knows of the loss no later than this call.
func (h *Hold) Err() error {
	h.mu.Lock()
	s, err := h.session, h.err
	h.mu.Unlock()
	if err == nil && s != nil {
		if over := s.check(); over != nil {
			err = h.settle(over)
		}
	}
	return err
}

// Wait waits until h is held or over, and returns Err. Nil means held.
func (h *Hold) Wait() error {
	select {
	case <-h.acquired:
	case <-h.work.Done():
	}
	return h.Err()
}

// Until returns the moment up to which h is good even if nothing more is heard
// from the ensemble; it moves on with every transaction of the session that is
// answered, the program's or the client's own. It is zero until h is acquired.
func (h *Hold) Until() time.Time {
	h.mu.Lock()
	s := h.session
	h.mu.Unlock()
	if s == nil {
		return time.Time{}
	}
	return s.until()
}

// Context returns a copy of parent that is also canceled, with Err as the cause,
// when h is lost or released, or is over without having been held. It lives as
// long as parent and h do: call it once for each piece of work.
func (h *Hold) Context(parent context.Context) context.Context {
	outer, _ := parent.Value(contextKey{h.c, h.path}).(*enclosing)
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, contextKey{h.c, h.path}, &enclosing{h, outer}))
	if h.work.Err() != nil {
		cancel(context.Cause(h.work))
		return ctx
	}
	stop := context.AfterFunc(h.work, func() { cancel(context.Cause(h.work)) })
	context.AfterFunc(ctx, func() { stop() }) // so that h forgets it when parent ends
	return ctx
}

// A contextKey is the key by which a context of a Hold tells what it is for.
type contextKey struct {
	c    *Client
	path string
}

// enclosing are the Holds on one path from whose Context a context comes, the
// innermost first.
type enclosing struct {
	h     *Hold
	outer *enclosing
}

// Token returns the fencing token of h, zero until h is acquired.
func (h *Hold) Token() Token {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.token
}

// Guard returns a condition for [Client.Txn]: the other ops are carried out only
// while a znode exists that was made for h and has a name that was never another's,
// that is, while nobody else can hold what h holds. Otherwise the transaction is
// refused with [ErrNotHeld]. Until h is acquired the guard lets nothing pass.
//
// Where it matters that the write is not late, this is all that is needed: it holds
// even if the program stood still between the two.
func (h *Hold) Guard() Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	node := h.node
	if node == "" {
		node = zkpath.Join(h.c.FullPath(h.path), "_c_not-held") // no recipe gives this name
	}
	return Op{verb: toCheck, path: node, full: true, hold: h.path, version: -1}
}

// Release gives h up, held or not, and waits until its znode is gone. If ctx
// ends first, Release returns ctx's cause, and h is given up all the same, as
// soon as the ensemble can be reached. It returns the ensemble's refusal if the
// znode may not be removed and so stays until the session ends, and otherwise
// nil, also when h was over already. It may be called at any time, and again.
func (h *Hold) Release(ctx context.Context) error {
	h.settle(ErrReleased) // before anything else can become the cause
	h.mu.Lock()
	if !h.asked {
		h.asked = true
		close(h.release)
	}
	h.mu.Unlock()
	select {
	case <-h.done:
	default:
		select {
		case <-h.done:
		case <-ctx.Done():
			return &Error{"release", h.path, context.Cause(ctx)}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leftover != nil {
		return &Error{"release", h.path, h.leftover}
	}
	return nil
}

// settle sets the one cause, if there is none yet, and returns it. Whatever was
// held, and ends other than by its owner's wish, is lost.
func (h *Hold) settle(cause error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end(cause)
}

// end is settle for those who have h.mu.
func (h *Hold) end(cause error) error {
	if h.err != nil {
		return h.err
	}
	op := h.op
	switch {
	case cause == ErrReleased:
		op = "release"
	case h.session != nil:
		op = "lost"
	}
	if h.session == nil {
		cause = h.c.because(cause)
	}
	h.err = &Error{op, h.path, cause}
	h.stop(h.err) // before Lost, so that the recipe knows what its owner knows
	if h.session != nil && cause != ErrReleased {
		close(h.lost)
	}
	h.c.report.ended(h, cause)
	return h.err
}

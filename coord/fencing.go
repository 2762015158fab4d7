package coord

import (
	"cmp"
	"slices"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A Token orders the holders of one path: of two, the later has the greater token. A
// store that remembers the greatest token it has seen, and rejects lesser ones, is safe
// from a holder that does not know yet that it has lost.
//
// It is the id of the transaction that created the holder's znode, so tokens stay in
// order even if the directory is deleted and created again. No holder has the zero
// Token. Fencing tokens are described in Martin Kleppmann's "How to do distributed
// locking".
type Token int64

// Token returns the fencing token of h, zero until h is acquired. If h has several, it is
// the first of [Hold.Tokens].
func (h *Hold) Token() Token {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.token
}

// Tokens returns the fencing tokens of h, none until h is acquired: one for each thing that
// it holds, in the order in which they were asked for. Most recipes hold one.
func (h *Hold) Tokens() []Token {
	first := h.Token()
	if first == 0 {
		return nil
	}
	parts := h.parts()
	if parts == nil {
		return []Token{first}
	}
	var tokens []Token
	for _, part := range parts {
		tokens = append(tokens, part.Tokens()...)
	}
	return tokens
}

// Guard returns a condition for [Client.Txn]: the other ops are carried out only if the
// znode that was created for h, under a name of its own, still exists. While it does,
// nobody else can hold what h holds. Otherwise the transaction is refused, with
// [ErrNotHeld]. Until h is acquired, the Guard lets nothing pass.
//
// The ensemble checks this when it carries the transaction out. So the write is safe
// even if the program stood still after it had looked at h.
//
// If h has several znodes, the Guard checks them all. It is one op with one result all the
// same, and the error has the path of the first that is not held.
func (h *Hold) Guard() Op {
	if parts := h.parts(); h.heldIn() != nil && parts != nil {
		op := parts[0].Guard()
		for _, part := range parts[1:] {
			guard := part.Guard()
			op.also = append(append(op.also, guard), guard.also...)
		}
		return op
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	node := h.node
	if node == "" {
		node = "/_c_not-held" // no recipe gives this name
		if h.c != nil {
			node = zkpath.Join(h.c.FullPath(h.path), "_c_not-held")
		}
	}
	return Op{verb: toCheck, path: node, full: true, hold: cmp.Or(h.path, node), version: -1}
}

// flat returns ops with the conditions of a Guard of several znodes one by one, and which of
// ops each belongs to.
func flat(ops []Op) (all []Op, of origins) {
	if !slices.ContainsFunc(ops, func(op Op) bool { return op.also != nil }) {
		return ops, nil
	}
	for i, op := range ops {
		all = append(append(all, op), op.also...)
		for range 1 + len(op.also) {
			of = append(of, i)
		}
	}
	return all, of
}

// origins say of each op of a transaction which of the program's ops it belongs to. If they
// are nil, it is the one with the same index.
type origins []int

func (of origins) at(i int) int {
	if of == nil {
		return i
	}
	return of[i]
}

// A notHeld is the answer to a Guard of several znodes. It says which was not there.
type notHeld struct{ path string }

// Error returns the text of ErrNotHeld, and the path.
func (e notHeld) Error() string { return ErrNotHeld.Error() + ": " + e.path }

// Unwrap returns ErrNotHeld.
func (e notHeld) Unwrap() error { return ErrNotHeld }

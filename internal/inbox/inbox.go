package inbox

import "sync"

// An Inbox is an unbounded queue with one receiver. Put never blocks and loses
// nothing, so it may be called with locks held and from callbacks that must not
// block.
type Inbox[T any] struct {
	ready chan struct{} // holds a token while there may be something to take

	mu    sync.Mutex
	items []T
	err   error // why the inbox is closed
}

// New returns an empty Inbox.
func New[T any]() *Inbox[T] {
	return &Inbox[T]{ready: make(chan struct{}, 1)}
}

// Put adds v. If the Inbox is closed it does nothing and returns the reason.
func (b *Inbox[T]) Put(v T) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	b.items = append(b.items, v)
	b.signal()
	return nil
}

// Close lets nothing more in: Put returns err from then on, which must not be nil. Only
// the first call counts.
func (b *Inbox[T]) Close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
		b.signal()
	}
}

// Ready returns a channel that has a token in it when there may be something to
// take, or the Inbox has been closed. It is never closed.
func (b *Inbox[T]) Ready() <-chan struct{} { return b.ready }

// Take returns all that was put in since the last call, in that order, and the
// reason if the Inbox is closed. It does not block.
func (b *Inbox[T]) Take() ([]T, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	b.items = nil
	return items, b.err
}

func (b *Inbox[T]) signal() {
	select {
	case b.ready <- struct{}{}:
	default: // one token wakes the receiver for all there is
	}
}

package watch

import "sync"

// An inbox is an unbounded queue with one taker.
type inbox struct {
	mu     sync.Mutex
	posts  []func()
	closed error
	wake   chan struct{} // holds a token while there may be something to take
}

// post adds do unless the inbox is closed.
func (b *inbox) post(do func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != nil {
		return false
	}
	b.push(do)
	return true
}

// postAlways adds do even if the inbox is closed, for what its taker waits for.
func (b *inbox) postAlways(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.push(do)
}

func (b *inbox) push(do func()) {
	b.posts = append(b.posts, do)
	b.signal()
}

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default: // one token wakes the taker for all there is
	}
}

func (b *inbox) close(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed == nil {
		b.closed = cause
		b.signal()
	}
}

func (b *inbox) cause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// take waits for something to do, or for the inbox to be closed for a cause.
func (b *inbox) take() ([]func(), error) {
	<-b.wake
	b.mu.Lock()
	defer b.mu.Unlock()
	posts := b.posts
	b.posts = nil
	return posts, b.closed
}

package event

import (
	"iter"
	"sync"
)

// A Stream delivers the successive values of something that changes.
//
// It delivers states, not steps: a receive yields the newest value, and values
// that went unreceived are dropped. A stream belongs to one receiver; for
// another, ask for another stream. Its methods are safe for concurrent use.
type Stream[T any] struct {
	updates chan T        // holds the newest value nobody has received yet; never closed
	done    chan struct{} // closed once, by Publisher.Close

	mu     sync.Mutex
	latest T
	has    bool // there is a latest
	err    error
}

// A Publisher is the side of a [Stream] that gives it values. It is for recipes. Its
// methods never block, even if nobody receives.
type Publisher[T any] struct{ s *Stream[T] }

// NewStream returns a stream without a value yet, and its publisher.
func NewStream[T any]() (*Stream[T], Publisher[T]) {
	// The buffer of one is what lets Publish put the newest value where a
	// receiver finds it, without a goroutine to hold it out.
	s := &Stream[T]{updates: make(chan T, 1), done: make(chan struct{})}
	return s, Publisher[T]{s}
}

// Ended returns a stream that is over, for err, and never had a value.
func Ended[T any](err error) *Stream[T] {
	s, p := NewStream[T]()
	p.Close(err)
	return s
}

// Updates returns the channel on which values arrive, the newest first. It is
// never closed, so that a receive yields a value and never a zero: select on
// [Stream.Done] as well, or range over [Stream.All].
func (s *Stream[T]) Updates() <-chan T { return s.updates }

// Latest returns the newest value, received or not, and whether there has been
// one.
func (s *Stream[T]) Latest() (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest, s.has
}

// All returns the values that arrive until s ends. It receives from the same
// channel as [Stream.Updates].
func (s *Stream[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			select {
			case v := <-s.updates:
				if !yield(v) {
					return
				}
			case <-s.done:
				// If both were ready the select above has taken either.
				select {
				case v := <-s.updates: // published before the end
					yield(v)
				default:
				}
				return
			}
		}
	}
}

// Done returns a channel that is closed when s is over: no value will come any
// more. One that was not received yet stays in [Stream.Updates].
func (s *Stream[T]) Done() <-chan struct{} { return s.done }

// Err returns nil until Done is closed, and then why.
func (s *Stream[T]) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Publish makes v the newest value. After Close it does nothing.
func (p Publisher[T]) Publish(v T) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.latest, s.has = v, true
	select {
	case <-s.updates: // overtaken
	default:
	}
	s.updates <- v // there is room, since only the holder of s.mu sends
}

// Close ends the stream with err, which must not be nil. Only the first call counts.
func (p Publisher[T]) Close(err error) {
	if err == nil { // the stream would be over and say that it is not
		panic("event: Publisher.Close(nil): a stream ends for a reason")
	}
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	close(s.done)
}

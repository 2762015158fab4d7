package queue

import "errors"

// ErrNested ends what would wait for its caller.
var ErrNested = errors.New("lock: held by the caller already; share that hold")

// An Option adjusts a lock of package lock or rwlock.
type Option func(*Options)

// Options are what an Option adjusts.
type Options struct {
	Label string // what the others see of the contenders
}

// Label returns the option that makes contenders show text.
func Label(text string) Option { return func(o *Options) { o.Label = text } }

// Apply returns what opts come to.
func Apply(opts []Option) (all Options) {
	for _, o := range opts {
		if o == nil {
			panic("lock: an Option is nil")
		}
		o(&all)
	}
	return all
}

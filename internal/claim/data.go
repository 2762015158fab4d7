package claim

import "sync"

// Data are the data of an owner's znode, which may change. Each change has a number,
// its generation. Its methods are safe for concurrent use.
type Data struct {
	mu      sync.Mutex
	newest  []byte
	gen     int           // of newest
	decided int           // up to this generation all are written, overtaken or refused
	written int           // up to this one, written or overtaken
	err     error         // why what comes after written, up to decided, was refused
	moved   chan struct{} // closed and replaced when decided moves
	changed chan struct{} // holds a token after a change
}

// NewData returns data that begin as newest.
func NewData(newest []byte) *Data {
	return &Data{newest: newest, moved: make(chan struct{}), changed: make(chan struct{}, 1)}
}

// Set makes newest the data, and returns their generation.
func (d *Data) Set(newest []byte) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newest = newest
	d.gen++
	select {
	case d.changed <- struct{}{}:
	default:
	}
	return d.gen
}

// Outcome returns whether it is decided what became of generation gen, and why it was
// refused, if it was; and what closes when that may change.
func (d *Data) Outcome(gen int) (decided bool, moved <-chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case gen > d.decided:
		return false, d.moved, nil
	case gen > d.written:
		return true, nil, d.err
	}
	return true, nil, nil
}

// Changed returns a channel that holds a token after a change. It is for the one that
// writes the data.
func (d *Data) Changed() <-chan struct{} { return d.changed }

// Newest returns the newest data and their generation.
func (d *Data) Newest() ([]byte, int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.newest, d.gen
}

// Acknowledge notes that everything up to gen is written, or that gen was refused.
func (d *Data) Acknowledge(gen int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.decided, d.err = gen, err; err == nil {
		d.written = gen
	}
	close(d.moved)
	d.moved = make(chan struct{})
}

package members

import "sync"

// A telling is what a member tells of itself, from now on. Its generations count
// up. Its methods are safe for concurrent use.
type telling struct {
	mu      sync.Mutex
	newest  []byte
	gen     int           // of newest
	settled int           // up to this generation all has been told, overtaken or refused
	told    int           // up to this one, told or overtaken
	err     error         // why what comes after told, up to settled, was refused
	moved   chan struct{} // closed and replaced when settled moves
	fresh   chan struct{} // holds a token while there may be something to tell
}

func newTelling(data []byte) *telling {
	return &telling{newest: data, moved: make(chan struct{}), fresh: make(chan struct{}, 1)}
}

// put makes data the newest, and returns its generation.
func (t *telling) put(data []byte) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newest = data
	t.gen++
	select {
	case t.fresh <- struct{}{}:
	default:
	}
	return t.gen
}

// data returns the newest data and their generation.
func (t *telling) data() ([]byte, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest, t.gen
}

// settle notes that everything up to gen has been told, or that gen was refused.
func (t *telling) settle(gen int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.settled, t.err = gen, err; err == nil {
		t.told = gen
	}
	close(t.moved)
	t.moved = make(chan struct{})
}

// outcome returns whether gen is settled, and how; and what closes when that may
// change.
func (t *telling) outcome(gen int) (settled bool, moved <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case gen > t.settled:
		return false, t.moved, nil
	case gen > t.told:
		return true, nil, t.err
	}
	return true, nil, nil
}

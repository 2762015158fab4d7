package watch

import (
	"sync"

	"github.com/zkcoord/zkcoord/event"
)

// A Set is any number of followed znodes with one receiver, for those who
// write recipes. Like a [event.Stream] it delivers states, not steps. Its methods do
// not block; those other than Ready belong to one goroutine.
type Set struct {
	loop  *Loop
	full  func(path string) string
	ready chan struct{} // holds a token while there may be something to take

	mu      sync.Mutex
	watched map[watchKey]*watched
	news    map[watchKey]Change
	pending int // followed that are not up to date
}

// A watchKey is by what the receiver of a Set knows what it follows.
type watchKey struct {
	path string // as the receiver writes it
	kind event.Kind
}

// A Change is the newest state of one znode of a [Set].
type Change struct {
	Kind event.Kind
	event.Snapshot
	Err error // if not nil, this znode can not be followed any more, for this reason
}

// NewSet returns an empty Set, whose paths are given to full to make them
// absolute.
func (l *Loop) NewSet(full func(path string) string) *Set {
	return &Set{
		loop:    l,
		full:    full,
		ready:   make(chan struct{}, 1),
		watched: make(map[watchKey]*watched),
		news:    make(map[watchKey]Change),
	}
}

// Add begins to follow kind at path, which must be valid, unless b does so
// already. If untilDeleted is set, data or children are followed only until the znode is
// gone; see [Loop.WatchUntilDeleted].
func (b *Set) Add(path string, kind event.Kind, untilDeleted bool) {
	as := watchKey{path, kind}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watched[as] != nil {
		return
	}
	s := &watched{b: b, as: as}
	s.sub = &subscription{key: key{b.full(path), kind, untilDeleted}, as: path, out: s}
	b.watched[as] = s
	b.addPending(1)
	if err := b.loop.inbox.Put(message{input: input{signal: subscribe, sub: s.sub}}); err != nil {
		cause := b.loop.source.Ended(path, err)
		b.put(s, Change{Kind: as.kind, Snapshot: event.Snapshot{Path: path}, Err: cause})
	}
}

// Drop ends what Add began.
func (b *Set) Drop(path string, kind event.Kind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.watched[watchKey{path, kind}]; s != nil {
		b.drop(s)
	}
}

// drop is called with b.mu held.
func (b *Set) drop(s *watched) {
	delete(b.watched, s.as)
	delete(b.news, s.as)
	if !s.upToDate {
		b.addPending(-1)
	}
	b.loop.post(message{input: input{signal: unsubscribe, sub: s.sub}})
}

// Close ends all that Add began.
func (b *Set) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.watched {
		b.drop(s)
	}
}

// Ready returns a channel that has a token in it while there may be something to
// take. It is never closed.
func (b *Set) Ready() <-chan struct{} { return b.ready }

// Take returns what is new, and whether b is consistent. If it is, the newest states
// of all its znodes, taken together, are those of one moment of the ensemble: the
// server has told of no change to any of them that has not been read. So of a
// transaction that changes several they show everything or nothing.
func (b *Set) Take() (news []Change, consistent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.news {
		news = append(news, n)
	}
	clear(b.news)
	return news, b.pending == 0
}

// Consistent reports what the second result of Take would be.
func (b *Set) Consistent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pending == 0
}

// put makes n the news of s. It is called with b.mu held.
func (b *Set) put(s *watched, n Change) {
	if b.watched[s.as] != s {
		return // dropped in the meantime
	}
	b.news[s.as] = n
	b.signal()
}

// addPending notes that there are n more followed that are not up to date. It is called
// with b.mu held.
func (b *Set) addPending(n int) {
	if b.pending += n; b.pending == 0 {
		b.signal()
	}
}

func (b *Set) signal() {
	select {
	case b.ready <- struct{}{}:
	default: // one token is enough
	}
}

// A watched is one znode's share in a Set. It implements [sink].
type watched struct {
	b        *Set
	as       watchKey
	sub      *subscription
	upToDate bool
}

func (s *watched) Publish(snap event.Snapshot) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.put(s, Change{Kind: s.as.kind, Snapshot: snap})
}

func (s *watched) Close(err error) {
	s.b.mu.Lock()
	s.b.put(s, Change{Kind: s.as.kind, Snapshot: event.Snapshot{Path: s.as.path}, Err: err})
	s.b.mu.Unlock()
	s.setUpToDate(true) // as far as it goes
}

func (s *watched) setUpToDate(upToDate bool) {
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watched[s.as] != s || s.upToDate == upToDate {
		return
	}
	s.upToDate = upToDate
	if upToDate {
		b.addPending(-1)
	} else {
		b.addPending(1)
	}
}

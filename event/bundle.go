package event

import "sync"

// A Bundle is any number of followed znodes with one receiver, for those who
// write recipes. Like a [Stream] it delivers states, not steps. Its methods do
// not block; those other than Ready belong to one goroutine.
type Bundle struct {
	loop  *Loop
	full  func(path string) string
	ready chan struct{} // holds a token while there may be something to take

	mu      sync.Mutex
	strands map[mark]*strand
	news    map[mark]News
	loose   int // strands that are not settled
}

// A mark is by what the receiver of a Bundle knows a strand.
type mark struct {
	path string // as the receiver writes it
	kind Kind
}

// News is the newest state of one znode of a [Bundle].
type News struct {
	Kind Kind
	Snapshot
	Err error // if not nil, this znode can not be followed any more, for this reason
}

// Bundle returns an empty Bundle, whose paths are given to full to make them
// absolute.
func (l *Loop) Bundle(full func(path string) string) *Bundle {
	return &Bundle{
		loop:    l,
		full:    full,
		ready:   make(chan struct{}, 1),
		strands: make(map[mark]*strand),
		news:    make(map[mark]News),
	}
}

// Add begins to follow kind at path, which must be valid, unless b does so
// already. If once is set, data or children are followed only until the znode is
// gone; see [Loop.Follow].
func (b *Bundle) Add(path string, kind Kind, once bool) {
	as := mark{path, kind}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.strands[as] != nil {
		return
	}
	s := &strand{b: b, as: as}
	s.sub = &subscription{key: key{b.full(path), kind, once}, as: path, out: s}
	b.strands[as] = s
	b.loosen(1)
	if !b.loop.inbox.post(func() { b.loop.subscribe(s.sub) }) {
		cause := b.loop.source.Ended(path, b.loop.inbox.cause())
		b.put(s, News{Kind: as.kind, Snapshot: Snapshot{Path: path}, Err: cause})
	}
}

// Drop ends what Add began.
func (b *Bundle) Drop(path string, kind Kind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.strands[mark{path, kind}]; s != nil {
		b.drop(s)
	}
}

// drop is called with b.mu held.
func (b *Bundle) drop(s *strand) {
	delete(b.strands, s.as)
	delete(b.news, s.as)
	if !s.settled {
		b.loosen(-1)
	}
	b.loop.inbox.post(func() { b.loop.unsubscribe(s.sub) })
}

// Close ends all that Add began.
func (b *Bundle) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.strands {
		b.drop(s)
	}
}

// Ready returns a channel that has a token in it while there may be something to
// take. It is never closed.
func (b *Bundle) Ready() <-chan struct{} { return b.ready }

// Take returns what is new, and whether b is settled. If it is, the newest states
// of all its znodes, taken together, are those of one moment of the ensemble: the
// server has told of no change to any of them that has not been read. So of a
// transaction that changes several they show everything or nothing.
func (b *Bundle) Take() (news []News, settled bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.news {
		news = append(news, n)
	}
	clear(b.news)
	return news, b.loose == 0
}

// Settled reports what the second result of Take would be.
func (b *Bundle) Settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.loose == 0
}

// put makes n the news of s. It is called with b.mu held.
func (b *Bundle) put(s *strand, n News) {
	if b.strands[s.as] != s {
		return // dropped in the meantime
	}
	b.news[s.as] = n
	b.signal()
}

// loosen notes that there are n more strands that are not settled. It is called
// with b.mu held.
func (b *Bundle) loosen(n int) {
	if b.loose += n; b.loose == 0 {
		b.signal()
	}
}

func (b *Bundle) signal() {
	select {
	case b.ready <- struct{}{}:
	default: // one token is enough
	}
}

// A strand is one znode's share in a bundle. It implements [sink].
type strand struct {
	b       *Bundle
	as      mark
	sub     *subscription
	settled bool
}

func (s *strand) Publish(snap Snapshot) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.put(s, News{Kind: s.as.kind, Snapshot: snap})
}

func (s *strand) Close(err error) {
	s.b.mu.Lock()
	s.b.put(s, News{Kind: s.as.kind, Snapshot: Snapshot{Path: s.as.path}, Err: err})
	s.b.mu.Unlock()
	s.settle(true) // as far as it goes
}

func (s *strand) settle(settled bool) {
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.strands[s.as] != s || s.settled == settled {
		return
	}
	s.settled = settled
	if settled {
		b.loosen(-1)
	} else {
		b.loosen(1)
	}
}

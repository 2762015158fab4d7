package watch

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/zkcoord/zkcoord/event"
)

// A Set is any number of followed znodes with one receiver, for recipes. Like an
// [event.Stream] it delivers states, not steps. Its methods do not block; those
// other than Ready belong to one goroutine.
//
// It can say when all its states are of one moment, which several streams could not:
// between receives from them, any of them may have moved on. Here the loop counts, under
// the Set's mutex, how many znodes may be out of date, and Take sees the count and the
// states together.
type Set struct {
	loop  *Loop
	full  func(path string) string
	ready chan struct{} // holds a token while there may be something to take

	mu      sync.Mutex
	watched map[watchKey]*watched
	changes map[watchKey]Change // not taken yet
	roots   []string            // absolute
	pending int                 // how many of watched are not up to date; a new one is not
}

// A watchKey is how the receiver of a Set names what it follows.
type watchKey struct {
	path string // as the receiver writes it
	kind event.Kind
}

// A Change is the newest state of one znode of a [Set].
type Change struct {
	Kind event.Kind
	event.Snapshot
	Err error // if not nil, why this znode cannot be followed any more
}

// NewSet returns an empty Set. The function full makes its paths absolute.
func (l *Loop) NewSet(full func(path string) string) *Set {
	return &Set{
		loop:    l,
		full:    full,
		ready:   make(chan struct{}, 1),
		watched: make(map[watchKey]*watched),
		changes: make(map[watchKey]Change),
	}
}

// SetOf returns an empty Set of a client's loop, with paths below the client's chroot. The
// client is a *coord.Client, whose package stands above this one, and sets this variable.
var SetOf func(client any) *Set

// Add begins to follow kind at path, which must be valid, unless s does so
// already. With untilDeleted, data or children are followed only until the znode
// is deleted; see [Loop.WatchUntilDeleted].
func (s *Set) Add(path string, kind event.Kind, untilDeleted bool) {
	name := watchKey{path, kind}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched[name] != nil {
		return
	}
	w := &watched{set: s, name: name}
	w.sub = &subscription{as: path, out: w}
	w.sub.key = key{s.full(path), kind, untilDeleted && kind != event.Presence}
	s.watched[name] = w
	s.addPending(1)
	if err := s.loop.inbox.Put(message{input: input{kind: subscribe, sub: w.sub}}); err != nil {
		s.put(w, Change{Kind: kind, Snapshot: event.Snapshot{Path: path}, Err: s.loop.source.Ended(path, err)})
	}
}

// Below says that s will follow much of what is below path, which must be valid, so that
// it pays to be told of every change there. What Add begins there costs less, if the
// directories are large and the servers are of version 3.6 or newer.
func (s *Set) Below(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path = s.full(path)
	s.roots = append(s.roots, path)
	s.loop.post(message{input: input{kind: root}, paths: []string{path}})
}

// Drop ends what Add began. What was not taken of it before is not delivered any more.
func (s *Set) Drop(path string, kind event.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watched[watchKey{path, kind}]; w != nil {
		s.drop(w)
	}
}

// drop is called with s.mu held.
func (s *Set) drop(w *watched) {
	delete(s.watched, w.name)
	delete(s.changes, w.name)
	if !w.upToDate {
		s.addPending(-1)
	}
	s.loop.post(message{input: input{kind: unsubscribe, sub: w.sub}})
}

// Close ends all that Add began. The znodes of a Set that is not closed are followed, for
// nobody, until the loop is closed.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watched {
		s.drop(w)
	}
	for _, path := range s.roots {
		s.loop.post(message{input: input{kind: unroot}, paths: []string{path}})
	}
	s.roots = nil
}

// Ready returns a channel that has a token in it while there may be something to
// take. It is never closed.
func (s *Set) Ready() <-chan struct{} { return s.ready }

// Take returns what has changed since it was last called, and whether s is
// consistent. If it is, the newest states of all its znodes form a consistent
// snapshot: no announced change remains unread. So of a transaction that changes
// several of them they show everything or nothing.
//
// A deletion of what was added with untilDeleted is an exception. It shows at
// once, which may be before the rest of its transaction does.
func (s *Set) Take() (changes []Change, consistent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.changes {
		changes = append(changes, c)
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind))
	})
	clear(s.changes)
	return changes, s.pending == 0
}

// Consistent reports what the second result of Take would be.
func (s *Set) Consistent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending == 0
}

// put makes c the newest state of w, unless w was dropped in the meantime: the loop may
// not know that yet, and there may be another under the same name. It is called with
// s.mu held.
func (s *Set) put(w *watched, c Change) {
	if s.watched[w.name] == w {
		s.changes[w.name] = c
		s.wake()
	}
}

// addPending notes that n more are not up to date. It is called with s.mu held.
func (s *Set) addPending(n int) {
	if s.pending += n; s.pending == 0 {
		s.wake()
	}
}

// wake tells the receiver that there may be something to take: a change, or that the Set
// has become consistent without one.
func (s *Set) wake() {
	select {
	case s.ready <- struct{}{}:
	default: // one token is enough
	}
}

// A watched is one znode of a Set. It implements [sink]: its methods are called by the
// loop's goroutine, and take the Set's mutex.
type watched struct {
	set      *Set
	name     watchKey
	sub      *subscription
	upToDate bool
}

func (w *watched) Publish(snap event.Snapshot) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	w.set.put(w, Change{Kind: w.name.kind, Snapshot: snap})
}

func (w *watched) Close(err error) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	w.set.put(w, Change{Kind: w.name.kind, Snapshot: event.Snapshot{Path: w.name.path}, Err: err})
	w.setUpToDateLocked(true) // nothing more will come, and the others must not wait for it
}

func (w *watched) setUpToDate(upToDate bool) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	w.setUpToDateLocked(upToDate)
}

// setUpToDateLocked is called with w.set.mu held.
func (w *watched) setUpToDateLocked(upToDate bool) {
	if w.set.watched[w.name] != w || w.upToDate == upToDate {
		return
	}
	w.upToDate = upToDate
	if upToDate {
		w.set.addPending(-1)
	} else {
		w.set.addPending(1)
	}
}

package queue

import (
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ask"
)

// A neighborhood is what the contenders of one session in one directory share, so that a
// crowd of them costs little: one listing serves all who came before it began, and each
// learns from the one before it how that has left, instead of from the ensemble.
type neighborhood struct {
	ask ask.Session[coord.Op, coord.OpResult]
	dir string

	mu      sync.Mutex
	count   int                  // of contenders; guarded by the mutex of neighborhoods
	by      map[string]*neighbor // those that may have a znode, by id
	running *reading             // the one under way; nil if none is known to be
	next    *reading             // the one that begins when that is over

	rings time.Time     // when
	rung  chan struct{} // is closed, for all that have waited for long by then
}

// alarm returns a channel that is closed after a time between half of d and d. One serves
// many, where each would have a timer.
func (n *neighborhood) alarm(d time.Duration) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if n.rung == nil || n.rings.Sub(now) < d/2 {
		rung := make(chan struct{})
		n.rings, n.rung = now.Add(d), rung
		time.AfterFunc(d, func() { close(rung) })
	}
	return n.rung
}

// neighborhoods are those of one client. They are kept in the client's values.
type neighborhoods struct {
	mu sync.Mutex
	of map[neighborhoodKey]*neighborhood
}

type neighborhoodKey struct {
	s   *coord.Session
	dir string
}

type neighborhoodsKey struct{}

func neighborhoodsOf(c *coord.Client) *neighborhoods {
	return sharedBy(c, neighborhoodsKey{}, func() *neighborhoods {
		return &neighborhoods{of: make(map[neighborhoodKey]*neighborhood)}
	})
}

// enter returns the neighborhood of a contender of s in dir, which leaves it when it is
// over, and whether it is alone there.
func (all *neighborhoods) enter(s *coord.Session, dir string) (n *neighborhood, alone bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	key := neighborhoodKey{s, dir}
	if n = all.of[key]; n == nil {
		n = &neighborhood{
			ask: ask.Of(s).(ask.Session[coord.Op, coord.OpResult]),
			dir: dir,
			by:  make(map[string]*neighbor),
		}
		all.of[key] = n
	}
	n.count++
	return n, n.count == 1
}

// leave ends what enter began.
func (all *neighborhoods) leave(s *coord.Session, dir string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	key := neighborhoodKey{s, dir}
	if all.of[key].count--; all.of[key].count == 0 {
		delete(all.of, key)
	}
}

// A reading is one listing of the queue. It serves all who ask for it before it begins:
// the servers answer in order, so it shows what was created before it.
//
// Nobody owns it. Those who wait for it wait for the same channel, and the first to come
// moves it on.
type reading struct {
	of     *neighborhood
	synced bool // the server is brought up to date first

	// Guarded by of.mu.
	sync    *ask.Pending[struct{}] // nil unless synced
	list    *ask.Pending[[]string] // nil until it has begun
	over    bool
	names   []string
	err     error
	inOrder *order // made for the second who asks
	asked   bool   // there was a first
}

// read returns a reading that begins now or later, with a sync before it if synced.
func (n *neighborhood) read(synced bool) *reading {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = &reading{of: n}
	}
	l := n.next
	l.synced = l.synced || synced
	n.begin()
	return l
}

// begin begins the next reading, unless one is under way. It is called with n.mu held.
func (n *neighborhood) begin() {
	if n.running != nil && n.running.ended() {
		n.running = nil // what was read is kept by those who have not taken it yet
	}
	if n.next == nil || n.running != nil {
		return
	}
	l := n.next
	n.running, n.next = l, nil
	if l.synced {
		l.sync = n.ask.Sync(n.dir)
	}
	l.list = n.ask.Children(n.dir)
}

// ended reports whether l is over. It is called with n.mu held.
func (l *reading) ended() bool {
	if l.over {
		return true
	}
	for range 2 { // requests, if there is a sync
		select {
		case <-l.pending():
		default:
			return false
		}
	}
	l.over = true
	if l.synced {
		_, l.err = l.sync.Result()
	}
	if names, err := l.list.Result(); l.err == nil {
		l.names, l.err = names, err
	}
	return true
}

// pending returns what is closed when the first of the requests is over that is not yet,
// or the last. It is called with n.mu held.
func (l *reading) pending() <-chan struct{} {
	if l.synced {
		select {
		case <-l.sync.Done():
		default:
			return l.sync.Done()
		}
	}
	return l.list.Done()
}

// done returns a channel that is closed when there is a result, or when it is time to ask
// for another channel.
func (l *reading) done() <-chan struct{} {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if l.of.begin(); l.list == nil {
		return l.of.running.pending()
	}
	return l.pending()
}

// result returns the names of the children, which are not to be modified, and the same in
// order if more than one asks. It reports false if l is not over.
func (l *reading) result() (names []string, sorted *order, err error, ok bool) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.begin()
	if l.list == nil || !l.ended() {
		return nil, nil, nil, false
	}
	if l.asked && l.inOrder == nil && l.err == nil {
		l.inOrder = newOrder(l.names)
	}
	l.asked = true
	return l.names, l.inOrder, l.err, true
}

package coord

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/internal/backoff"
)

// A serverList is the list of a client's servers, and what became of the last attempt
// at each. All sessions of the client go round the same list. At the end of each turn it
// is made anew, since names may stand for other addresses by then.
//
// A server has welcomed the client when it serves the session, and is good when it has
// done so for a while. There are servers that hang up on every client that they have
// welcomed, because they find out late that they do not want it. Those are not good. If a
// welcome were enough for dialing again without a pause, all clients would storm them.
type serverList struct {
	source *serverSource
	// seed decides the order, so that clients spread, and each keeps its own.
	seed int64

	mu sync.Mutex
	// turn are the servers of the present turn, which began at began; never empty. next is
	// the index of the one to try next, or the length of turn if another turn is to begin.
	turn  []server
	next  int
	began time.Time
	// last is the one that was tried last.
	last server
	// tries and welcomes are how many attempts and welcomes there have been since a server
	// was last good. The first welcome sets tries to zero.
	tries, welcomes int
	// errors are those since the last welcome.
	errors map[server]error
}

// rank returns a number for addr that is another with another seed.
func (l *serverList) rank(addr string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, addr, l.seed)
	return h.Sum64()
}

// newServerList returns the list that source makes. Until the first turn has begun it has
// the servers that were given.
func newServerList(source *serverSource) *serverList {
	l := &serverList{source: source, seed: backoff.Random(math.MaxInt64), errors: make(map[server]error)}
	for _, name := range source.given {
		l.turn = append(l.turn, server{name, name})
	}
	if source.list != nil {
		l.turn = []server{unlisted}
	}
	l.next = len(l.turn)
	return l
}

// maxTurn is how old the addresses of a turn may be: servers may have moved since, and the
// addresses may be those of others. A turn that is older is replaced.
const maxTurn = time.Second

// pick returns the server to try next. At the end of a turn it looks for the servers of
// the next, until ctx ends at the latest. If that fails the error is that of the server.
func (l *serverList) pick(ctx context.Context) (server, error) {
	l.mu.Lock()
	if l.next < len(l.turn) && time.Since(l.began) < maxTurn {
		defer l.mu.Unlock()
		return l.take(), nil
	}
	for _, s := range l.turn {
		if l.errors[s] == nil {
			l.errors[s] = errLookup
		}
	}
	round := max(0, l.tries-1) / len(l.turn) // this attempt is counted already
	l.mu.Unlock()
	turn, err := l.source.turn(ctx, round)
	if cause := context.Cause(ctx); err == nil && cause != nil && cause != context.DeadlineExceeded {
		err = cause // the session has ended meanwhile, and the next looks for itself
	}
	if err != nil {
		return unlisted, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin(turn)
	return l.take(), nil
}

// take returns the next server of the turn. It is called with l.mu held.
func (l *serverList) take() server {
	l.last = l.turn[l.next]
	l.next++
	return l.last
}

// compare orders servers as the client goes round them.
func (l *serverList) compare(a, b server) int {
	return cmp.Or(cmp.Compare(l.rank(a.addr), l.rank(b.addr)), cmp.Compare(a.addr, b.addr))
}

// begin begins a turn with these servers, behind the one that was tried last. It is called
// with l.mu held.
func (l *serverList) begin(turn []server) {
	slices.SortFunc(turn, l.compare)
	if l.last.addr != "" {
		if i := slices.IndexFunc(turn, func(s server) bool { return l.compare(s, l.last) > 0 }); i > 0 {
			turn = slices.Concat(turn[i:], turn[:i])
		}
	}
	errors := make(map[server]error)
	for _, s := range turn {
		if err := l.errors[s]; err != nil && err != errLookup {
			errors[s] = err
		}
	}
	l.turn, l.next, l.began, l.errors = turn, 0, time.Now(), errors
}

// dialing notes that s is being dialed. What is known of it from an earlier attempt says
// more than that, and stays.
func (l *serverList) dialing(s server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.errors[s] == nil {
		l.errors[s] = errPending
	}
}

// pause returns how long to wait before the next attempt. Each server is tried once without
// a pause. Then the pauses double with each round, up to max, and are jittered: the clients
// of a server that restarts should not all come at the same moment.
func (l *serverList) pause(max time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	round := l.tries / len(l.turn)
	l.tries++
	if round == 0 {
		return 0
	}
	d := min(10*time.Millisecond<<min(round, 16), max)
	return backoff.Jitter(d)
}

// rounds returns how often every server has been tried in vain.
func (l *serverList) rounds() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tries / len(l.turn)
}

// size returns how many servers there are in this turn.
func (l *serverList) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.turn)
}

// failed notes why s has given the client no session.
func (l *serverList) failed(s server, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors[s] = err
}

// hopeless reports whether the last answer of every server was to refuse the client for
// good. Dial then gives up. Later the client only tries less often, since somebody may
// change the servers' configuration.
func (l *serverList) hopeless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(l.turn, func(s server) bool { return s == unlisted || !final(l.errors[s]) })
}

// welcomed notes that a server serves the session. If the connection ends before the server
// is good, that has no consequence the first time: it may be an accident. The second time
// in a row, pauses go on as if there had been no welcome.
func (l *serverList) welcomed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.errors)
	if l.welcomes++; l.welcomes == 1 {
		l.tries = 0
	}
}

// lasted notes that a server has served the session for a while, and is good.
func (l *serverList) lasted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.welcomes, l.tries = 0, 0
}

// fickle reports whether servers welcome the client and hang up soon, again and again. Then
// no pause is cut short for the sake of a lease.
func (l *serverList) fickle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.welcomes > 5
}

// report returns what is wrong with each server, in the order of their addresses.
func (l *serverList) report() serverErrors {
	l.mu.Lock()
	defer l.mu.Unlock()
	var said serverErrors
	for _, s := range slices.SortedFunc(slices.Values(l.turn), func(a, b server) int { return cmp.Compare(a.String(), b.String()) }) {
		said = append(said, serverError{s.String(), cmp.Or(l.errors[s], errUntried)})
	}
	return said
}

// refusals is the report of those servers whose last answer was to refuse the client for
// good.
func (l *serverList) refusals() serverErrors {
	return slices.DeleteFunc(l.report(), func(err error) bool { return !final(err) })
}

package coord

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/internal/backoff"
)

// A serverList is the list of a client's servers, and what became of the last attempt
// at each. All sessions of the client go round the same list.
//
// A server has welcomed the client when it serves the session, and is good when it has
// done so for a while. One that hangs up on all whom it has welcomed, as servers do that
// find out late that they do not want a client, is not good. If a welcome were enough to
// dial again without a pause, all clients would storm it.
type serverList struct {
	// addrs are in random order, so that clients spread.
	addrs []string

	mu sync.Mutex
	// next is the index of the server to try next.
	next int
	// tries and welcomes are how many there have been since a server was last good. The
	// first welcome forgives the tries before.
	tries, welcomes int
	// errors are those since the last welcome, by address.
	errors map[string]error
}

func newServerList(addrs []string) *serverList {
	addrs = slices.Clone(addrs)
	rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	return &serverList{addrs: addrs, errors: make(map[string]error)}
}

// pick returns the server to try next.
func (l *serverList) pick() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	addr := l.addrs[l.next]
	l.next = (l.next + 1) % len(l.addrs)
	return addr
}

// dialing notes that addr is being dialled.
func (l *serverList) dialing(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.errors[addr] == nil {
		l.errors[addr] = errPending
	}
}

// pause returns how long to wait before the next attempt. Each server has a
// first chance at once. Then the pauses double, up to max, and are jittered: the
// clients of a server that restarts should not all come at the same moment.
func (l *serverList) pause(max time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	round := l.tries / len(l.addrs)
	l.tries++
	if round == 0 {
		return 0
	}
	d := min(10*time.Millisecond<<min(round, 16), max)
	return backoff.Jitter(d)
}

// rounds returns how often each server has been tried in vain.
func (l *serverList) rounds() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tries / len(l.addrs)
}

// failed notes why addr has given the client no session.
func (l *serverList) failed(addr string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors[addr] = err
}

// hopeless reports whether the last word of each server was to refuse the client for
// good. Dial then gives up. Later the client only tries less often: somebody may change
// how the servers are configured.
func (l *serverList) hopeless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(l.addrs, func(addr string) bool { return !final(l.errors[addr]) })
}

// welcomed notes that a server serves the session. If the connection ends before the
// server is good, that is forgiven once: only the second in a row makes a pattern.
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

// fickle reports whether servers welcome the client and soon hang up, again and again.
func (l *serverList) fickle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.welcomes > 5
}

// report says of each server what is wrong with it.
func (l *serverList) report() serverErrors {
	l.mu.Lock()
	defer l.mu.Unlock()
	var said serverErrors
	for _, addr := range slices.Sorted(slices.Values(l.addrs)) {
		said = append(said, serverError{addr, cmp.Or(l.errors[addr], errUntried)})
	}
	return said
}

// refusals is the report of those servers whose last word was to refuse the client for
// good.
func (l *serverList) refusals() serverErrors {
	return slices.DeleteFunc(l.report(), func(err error) bool { return !final(err) })
}

package coord

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/internal/backoff"
)

// A serverList is the list of a client's servers, and what became of the last attempt
// at each. All sessions of the client go round the same list.
//
// A server has welcomed the client when it serves the session, and is good when it has
// done so for a while. There are servers that hang up on every client that they have
// welcomed, because they find out late that they do not want it. Those are not good. If a
// welcome were enough for dialing again without a pause, all clients would storm them.
type serverList struct {
	// addrs are in random order, so that clients spread.
	addrs []string

	mu sync.Mutex
	// next is the index of the server to try next.
	next int
	// tries and welcomes are how many attempts and welcomes there have been since a server
	// was last good. The first welcome sets tries to zero.
	tries, welcomes int
	// errors are those since the last welcome, by address.
	errors map[string]error
}

func newServerList(addrs []string) *serverList {
	addrs = slices.Clone(addrs)
	for i := len(addrs) - 1; i > 0; i-- {
		j := backoff.Random(int64(i + 1))
		addrs[i], addrs[j] = addrs[j], addrs[i]
	}
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

// dialing notes that addr is being dialed. What is known of it from an earlier attempt says
// more than that, and stays.
func (l *serverList) dialing(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.errors[addr] == nil {
		l.errors[addr] = errPending
	}
}

// pause returns how long to wait before the next attempt. Each server is tried once without
// a pause. Then the pauses double with each round, up to max, and are jittered: the clients
// of a server that restarts should not all come at the same moment.
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

// rounds returns how often every server has been tried in vain.
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

// hopeless reports whether the last answer of every server was to refuse the client for
// good. Dial then gives up. Later the client only tries less often, since somebody may
// change the servers' configuration.
func (l *serverList) hopeless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(l.addrs, func(addr string) bool { return !final(l.errors[addr]) })
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
	for _, addr := range slices.Sorted(slices.Values(l.addrs)) {
		said = append(said, serverError{addr, cmp.Or(l.errors[addr], errUntried)})
	}
	return said
}

// refusals is the report of those servers whose last answer was to refuse the client for
// good.
func (l *serverList) refusals() serverErrors {
	return slices.DeleteFunc(l.report(), func(err error) bool { return !final(err) })
}

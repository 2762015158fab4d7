package queue

import (
	"sync"

	"github.com/zkcoord/zkcoord/coord"
)

// crowds say what the contenders of one client have last found in the directories that
// were not empty: what the next one does depends on it. It is only a guess. They are kept
// in the client's values.
type crowds struct {
	mu   sync.Mutex
	in   map[string]crowd
	many int // see manyAhead
}

type crowd uint8

const (
	// waited: the last that came had to wait. The next one asks for the queue together
	// with its node, and need not wait for the answer in between.
	waited crowd = 1 << iota
	// strangers: it came behind two others or more, of whom the last was not of its own
	// session. So a baton was worth its while, and it may have one like itself behind it.
	strangers
	// refusing: batons may not be made there. That stays.
	refusing
)

// maxCrowds bounds what a client that uses many locks keeps of them.
const maxCrowds = 1024

type crowdsKey struct{}

func crowdsOf(c *coord.Client) *crowds {
	return sharedBy(c, crowdsKey{}, func() *crowds { return &crowds{in: make(map[string]crowd), many: manyAhead} })
}

// set notes what there is in dir now.
func (all *crowds) set(dir string, now crowd) {
	all.mu.Lock()
	defer all.mu.Unlock()
	was := all.in[dir]
	now |= was & refusing
	switch {
	case was == now:
		return
	case now == 0:
		delete(all.in, dir)
		return
	case was == 0 && len(all.in) >= maxCrowds:
		for other := range all.in {
			delete(all.in, other) // any
			break
		}
	}
	all.in[dir] = now
}

func (all *crowds) get(dir string) crowd {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.in[dir]
}

// mark returns what the id of the next contender in dir ends with.
func (c crowd) mark() string {
	switch {
	case c&refusing != 0:
		return ""
	case c&strangers != 0:
		return batonMark
	}
	return lateMark // it may be the first of its client that comes there, to a crowd
}

// noteCrowd notes what our first view of the queue tells the next contender to expect.
func (d *driver) noteCrowd() {
	var now crowd
	if d.m.state == waiting {
		if now = waited; !d.m.lastBlocker && d.ahead.neighbor == nil {
			now |= strangers
		}
	}
	crowdsOf(d.c).set(d.Dir, now)
}

// manyAhead is how many must be before a contender for a listing to cost more than a baton
// that is made late. A client that knows that others wait has its batons made together with
// its nodes, which costs less.
const manyAhead = 64

// BatonsBehind makes the contenders of c get a baton late behind n others, for tests. It
// must be called before c contends.
func BatonsBehind(c *coord.Client, n int) {
	all := crowdsOf(c)
	all.mu.Lock()
	defer all.mu.Unlock()
	all.many = n
}

// manyAhead returns how many must be before a contender of this client, see the constant.
func (all *crowds) manyAhead() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.many
}

// ExpectCrowd makes the next contender of c in dir expect others before it and behind it,
// for tests.
func ExpectCrowd(c *coord.Client, dir string) { crowdsOf(c).set(dir, waited|strangers) }

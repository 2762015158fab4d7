package chaos

import (
	"slices"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/history"
)

// clientBlows are what is done to client processes.
func clientBlows() []blow {
	return []blow{
		{"kill client", (*track).killClient},
		{"kill client", (*track).killClient},
		{"freeze client", (*track).freezeClient},
		{"cut client", (*track).cutClient},
		{"cut client", (*track).cutClient},
	}
}

// clients strikes at the client processes but the sleepers, one blow after the other.
func (t *track) clients(deck []blow) error {
	return t.blows(deck, func() error {
		t.sleep(t.between(0, 2*time.Second))
		for _, c := range t.children[:len(t.children)-sleepers] {
			if err := c.ended(); err != nil {
				return err
			}
		}
		return nil
	})
}

// anyone returns a client process, but no sleeper. Every other time it is one that holds
// something: the last that wrote to the store as a holder of that.
func (t *track) anyone() *child {
	others := t.children[:len(t.children)-sleepers]
	held := slices.Concat(lockPaths, pairPaths, []string{unqueuedPath, sharedPath, leaderPath})
	if by := t.store.latest(held[t.rng.IntN(len(held))]).By; t.rng.IntN(2) == 0 {
		for _, c := range others {
			if strings.HasPrefix(by, c.name()+"/") {
				return c
			}
		}
	}
	return others[t.rng.IntN(len(others))]
}

// killClient kills a client process and starts it again under the same name.
func (t *track) killClient() error {
	c := t.anyone()
	if err := c.ended(); err != nil {
		return err
	}
	defer t.fault("kill client", c.name())()
	c.kill()
	t.sleep(t.between(0, 2*time.Second))
	return c.start()
}

// freezeClient stops a client process for less than a session timeout or for more.
func (t *track) freezeClient() error {
	c := t.anyone()
	d := t.between(t.timeout/10, t.timeout)
	if t.rng.IntN(3) == 0 {
		d = t.between(t.timeout, 3*t.timeout)
	}
	defer t.fault("freeze client", c.name())()
	defer t.pause(c)()
	t.sleep(d)
	return nil
}

// pause stops a client process, and returns what lets it go on.
func (t *track) pause(c *child) (resume func()) {
	healed := t.fault(history.Pause, c.name())
	c.process.Freeze()
	return func() {
		c.process.Thaw()
		healed()
	}
}

// cutClient cuts a client process off from all servers, one way or both, for less than a
// session timeout or for more.
func (t *track) cutClient() error {
	c, d := t.anyone(), t.direction()
	defer t.fault("cut client, "+d.String(), c.name())()
	for _, n := range t.ensemble.Nodes() {
		heal, err := t.ensemble.Cut(n, d, c.Local)
		if err != nil {
			return err
		}
		defer heal()
	}
	t.sleep(t.between(t.timeout/8, 2*t.timeout))
	return nil
}

// A halt is of a process that held the mutex of the sleepers, and what came of it.
type halt struct {
	actor    string
	token    coord.Token
	resumed  time.Duration // just before it went on
	replaced bool          // the next had written to the store by then
}

// sleepers stops those that hold the mutex of the sleepers, one after the other.
func (t *track) sleepers() error {
	for t.ctx.Err() == nil {
		if err := t.stopOne(); err != nil {
			return err
		}
		t.sleep(t.between(0, 2*time.Second))
	}
	return nil
}

// stopOne waits for one that has just acquired the mutex of the sleepers and written to the
// store, and stops it.
func (t *track) stopOne() error {
	asleep := t.children[len(t.children)-sleepers:]
	for before := t.store.latest(wakePath).Token; t.ctx.Err() == nil; t.sleep(20 * time.Millisecond) {
		now := t.store.latest(wakePath)
		for _, c := range asleep {
			if err := c.ended(); err != nil {
				return err
			}
			if now.Token > before && actorName(c.name(), sleeper) == now.By {
				t.stopHolder(c, now)
				return nil
			}
		}
	}
	return nil
}

// stopHolder stops the process that has just written to the store as holder.
func (t *track) stopHolder(c *child, wrote cell) {
	defer t.fault("stop holder", c.name())()
	resume := t.pause(c)
	deadline := time.Now().Add(6 * t.timeout)
	replaced := false
	for !replaced && time.Now().Before(deadline) && t.ctx.Err() == nil {
		t.sleep(20 * time.Millisecond)
		replaced = t.store.latest(wakePath).Token > wrote.Token
	}
	t.halts = append(t.halts, halt{wrote.By, wrote.Token, t.clock(), replaced})
	resume()
}

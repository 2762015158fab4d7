package coord

import (
	"context"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// maxPast is how many sessions that are over a client remembers. An abandoned one
// survives in the ensemble for less than half its timeout, so few can overlap.
const maxPast = 8

// Session returns the present session, which may not be established yet. After
// Close it is the last one, which is over.
func (c *Client) Session() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Await waits for a session that is connected and returns it. It ends with an
// error if ctx ends, which is then ctx's cause, with what the servers say if they
// turn the client away; or if c is closed.
func (c *Client) Await(ctx context.Context) (*Session, error) {
	for {
		c.mu.Lock()
		s, state, changed := c.session, c.state, c.changed
		c.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, c.givenUp(ctx)
		case state == Connected:
			return s, nil
		case state == Closed:
			return nil, s.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Former reports whether id is that of a session of c that is over, though the
// ensemble may keep it, and the ephemeral znodes made in it, for a while. Only
// the last few are remembered.
func (c *Client) Former(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.past, id)
}

// Local returns a map for those who write recipes, to keep in it what all who use
// the recipe with c must agree on. The type of a key belongs to the recipe alone,
// as with the values of a context.
func (c *Client) Local() *sync.Map { return &c.local }

// FullPath returns path as the ensemble knows it, below the chroot.
func (c *Client) FullPath(path string) string { return zkpath.Full(c.opts.Chroot, path) }

// ACL returns what guards the znodes that recipes create. It is not to be
// modified.
func (c *Client) ACL() []zk.ACL { return c.acl }

// Go runs f on a goroutine that Close waits for, and reports whether it has: if
// c is closed, f is not run. The context that f is given ends when c is closed.
// It is for those who write recipes.
func (c *Client) Go(f func(ctx context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.tasks.Go(func() { f(c.ctx) })
	return true
}

// goHold runs f for h, as Go does, and counts h as one that is not over.
func (c *Client) goHold(h *Hold, f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.holds++
	h.counted = true
	c.report.asked(h)
	c.tasks.Go(f)
	return true
}

// forget notes that h is over.
func (c *Client) forget(*Hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds--
}

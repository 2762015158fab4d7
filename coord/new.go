package coord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkcoord/zkcoord/internal/watch"
)

// New returns a client that is [Connecting]: it begins to look for a server, and goes on
// until it is closed. Everything can be asked of it at once. Requests and recipes wait for
// the first session, and streams have no value until there is one; [Client.State] says when.
//
// The servers are given as host:port or host, the port then being 2181. An error, which is
// an [*Error], is about them or about opts, and never about what the servers say.
// [Options].Logger gets that.
func New(servers []string, opts *Options) (*Client, error) {
	return newClient(context.Background(), "new", servers, opts)
}

// Dial is New, and returns once a session is established.
//
// While no server answers, Dial waits until ctx ends. [Options].Logger says then what it
// waits for.
//
// If ctx ends first, or every server refuses the client in a way that another attempt
// would not change, Dial leaves nothing behind and returns an [*Error] that says what was
// wrong with each server. [errors.Is] and [errors.As] find that in it, such as
// [ErrAuthFailed] for credentials that a server refuses or requires, or what crypto/tls
// says of a certificate. Once Dial has returned, the end of ctx does nothing.
func Dial(ctx context.Context, servers []string, opts *Options) (*Client, error) {
	if ctx.Err() != nil {
		return nil, &Error{Op: "dial", Err: context.Cause(ctx)}
	}
	c, err := newClient(ctx, "dial", servers, opts)
	if err != nil {
		return nil, err
	}
	if err := c.await(ctx); err != nil {
		why := c.servers.report()
		c.close(false)
		return nil, &Error{Op: "dial", Err: fmt.Errorf("%w (%w)", err, why)}
	}
	return c, nil
}

// newClient does the work of New. ctx has values for what the client reports, and ends nothing.
func newClient(ctx context.Context, op string, servers []string, opts *Options) (*Client, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, &Error{Op: op, Err: err}
	}
	switch {
	case o.Servers == nil:
		servers, err = addresses(servers)
	case len(servers) > 0:
		err = errors.New("servers given beside Options.Servers")
	}
	if err != nil {
		return nil, &Error{Op: op, Err: err}
	}
	c := &Client{
		opts:    o,
		servers: newServerList(newServerSource(servers, o)),
		report:  newReporter(ctx, o),
		closed:  make(chan struct{}),
		refused: make(chan struct{}, 1),
		changed: make(chan struct{}),
	}
	c.kit.c, c.acl = c, zkACL(o.ACL)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.loop = watch.NewLoop(source{c})
	c.mu.Lock()
	c.session = c.newSession()
	c.sessions.Go(c.warn)
	c.mu.Unlock()
	if o.FollowEnsemble {
		c.followEnsemble()
	}
	return c, nil
}

// warn says that there is no first session, and why, as long as that is so: nobody is to
// wait forever in silence.
func (c *Client) warn() {
	for wait := 10 * time.Second; ; {
		state, changed := c.State()
		if state == Connected || state == Closed {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			c.report.waiting(c.servers.report())
			wait = time.Minute
		case <-changed:
			timer.Stop()
		}
	}
}

// await waits for the first session. That all servers have refused the client counts only
// if it is so still: one of them may have been asked again meanwhile.
func (c *Client) await(ctx context.Context) error {
	for {
		state, changed := c.State()
		if state == Connected {
			return nil
		}
		select {
		case <-changed:
		case <-c.refused:
			if c.servers.hopeless() {
				return errHopeless
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// failed notes why a server has given the client no session, for the log and for Dial.
func (c *Client) failed(at server, began time.Time, err error) {
	c.report.dialFailed(SessionInfo{Server: at.String(), Begin: began, End: time.Now(), Err: err})
	c.servers.failed(at, err)
	if c.servers.hopeless() {
		select {
		case c.refused <- struct{}{}:
		default: // one is enough
		}
	}
}

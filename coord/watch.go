package coord

import (
	"cmp"
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/watch"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// Watch follows the znode at path until ctx ends: whether it exists, its data or its
// children, as kind says. The first value of the stream comes when the ensemble has
// answered; that the znode does not exist is a value and no error. The stream ends with
// an [*Error] whose cause is ctx's, [ErrClosed], or the ensemble's refusal, such as
// [ErrNoAuth]. The existence of a znode that the client may not read can be queried,
// but newer servers send no event when it changes.
//
// A stream costs no goroutine, and however many streams follow one path, the ensemble has
// one watch of each kind.
func (c *Client) Watch(ctx context.Context, path string, kind event.Kind) *event.Stream[event.Snapshot] {
	if err := zkpath.Check(path); err != nil {
		return event.Ended[event.Snapshot](&Error{"watch", path, err})
	}
	return c.loop.Watch(ctx, c.FullPath(path), path, kind)
}

// The recipes of this module get sets of watched znodes by this way, for their type is no
// part of the API.
func init() {
	watch.SetOf = func(client any) *watch.Set {
		c := client.(*Client)
		return c.loop.NewSet(c.FullPath)
	}
}

// source is where the loop reads. It implements [watch.Source].
type source struct{ c *Client }

// Read implements [watch.Source].
func (s source) Read(r *watch.Read) (*watch.Answer, error) {
	session := s.c.present()
	err := session.catchUp(s.c.ctx)
	var answer *watch.Answer
	if err == nil {
		answer, err = session.carryOut(r)
	}
	return answer, err
}

// carryOut makes r with the connection of s. Unlike [exchange] it needs no goroutine of its
// own, because it is called on one, and nobody waits for it to return at the end of s: it
// does so only when the connection has been closed.
func (s *Session) carryOut(r *watch.Read) (*watch.Answer, error) {
	report := s.c.report.request(s.c.report.ctx, purpose{"watch", s.c.relative(r.Path())})
	if err := s.admit(s.c.ctx); err != nil {
		report.ended(err)
		return nil, err
	}
	report.sent(s)
	answer, err := r.Do(s.conn)
	report.ended(translate(err))
	s.dismiss(err)
	return answer, cmp.Or(s.Err(), translate(err))
}

// catchUp makes reads in s at least as new as those of earlier sessions. Within a
// session the servers ensure this: one that lags behind the client refuses to resume.
// A new session may start on any server.
func (s *Session) catchUp(ctx context.Context) error {
	s.c.mu.Lock()
	synced := s.synced
	s.c.mu.Unlock()
	if synced {
		return nil
	}
	// Not retried here, for the callers of catchUp do that.
	_, _, err := exchange(ctx, s, purpose{"sync", "/"}, func(conn *zk.Conn) (string, error) { return conn.Sync("/") })
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.synced = s.synced || err == nil
	return err
}

// Refused implements [watch.Source].
func (s source) Refused(err error) bool { return refused(err) }

// Ended implements [watch.Source].
func (s source) Ended(path string, cause error) error {
	return &Error{"watch", path, s.c.withRefusals(cause)}
}

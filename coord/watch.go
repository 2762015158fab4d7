package coord

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/watch"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// Watch follows path until ctx ends. The stream's first value comes when the
// ensemble has given one. It ends with an [Error] whose cause is ctx's, or
// [ErrClosed], or the ensemble's refusal, such as [ErrNoAuth]; a znode that is
// not there is no error but a value. The existence of a znode that the client may not
// read can be queried, but newer servers send no event when it changes.
//
// The stream costs no goroutine, and however many streams follow one path, the
// ensemble sees one watch of each kind.
func (c *Client) Watch(ctx context.Context, path string, kind event.Kind) *event.Stream[event.Snapshot] {
	if err := zkpath.Check(path); err != nil {
		return event.Ended[event.Snapshot](&Error{"watch", path, err})
	}
	return c.loop.Watch(ctx, c.FullPath(path), path, kind)
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
	if err != nil && !refused(err) && !errors.Is(err, ErrExpired) {
		// The loop will ask again at once. Whatever the reason is, once more
		// within microseconds would not help.
		_ = session.pause(s.c.ctx, 5*time.Millisecond)
	}
	return answer, err
}

// carryOut makes r with the connection of s. Unlike [exchange] it needs no goroutine,
// because nobody waits for it: when s is over it returns only when the connection
// has been closed.
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
	_, _, err := exchange(ctx, s, purpose{"sync", "/"}, func(conn *zk.Conn) (string, error) { return conn.Sync("/") })
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.synced = s.synced || err == nil
	return err
}

func (s source) Refused(err error) bool { return refused(err) }

func (s source) Ended(path string, cause error) error {
	return &Error{"watch", path, s.c.because(cause)}
}

package coord

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/jute"
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
	if err := session.catchUp(s.c.ctx); err != nil {
		return nil, err
	}
	return session.carryOut(r)
}

// carryOut makes r in s.
func (s *Session) carryOut(r *watch.Read) (*watch.Answer, error) {
	answer, err := r.Do(reader{s, r})
	return answer, cmp.Or(s.Err(), err)
}

// A reader makes the requests of the loop for r. It implements [watch.Conn] and
// [watch.Directory], with full paths. Events do not come by the channels, which are nil:
// see [tappedConn.event].
type reader struct {
	s *Session
	r *watch.Read
}

// read makes one request, and arms a watch if that is asked for.
func (r reader) read(op jute.Op, path string, arm bool) (listed, *zk.Stat, error) {
	s := r.s
	q := s.newCall(s.c.report.ctx, purpose{"watch", s.c.relative(path)}, readFrame(op, path, arm))
	if arm {
		q.watch = path
	}
	if r.r.Lists() {
		q.then = func(a answer) {
			if a.err == nil {
				s.c.loop.Replied(r.r)
			}
		}
	}
	n, err := parse(s.await(s.c.ctx, q), asRead(op))
	if err != nil {
		return listed{}, nil, err
	}
	stat := zk.Stat(n.Stat)
	return n, &stat, nil
}

func (r reader) exists(path string, arm bool) (bool, *zk.Stat, error) {
	n, stat, err := r.read(jute.OpExists, path, arm)
	if errors.Is(err, ErrNoNode) {
		err = nil
	}
	return n.Exists, stat, err
}

func (r reader) Exists(path string) (bool, *zk.Stat, error) { return r.exists(path, false) }

func (r reader) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	there, stat, err := r.exists(path, true)
	return there, stat, nil, err
}

func (r reader) Get(path string) ([]byte, *zk.Stat, error) {
	n, stat, err := r.read(jute.OpGetData, path, false)
	return n.Data, stat, err
}

func (r reader) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	n, stat, err := r.read(jute.OpGetData, path, true)
	return n.Data, stat, nil, err
}

func (r reader) Children(path string) ([]string, *zk.Stat, error) {
	n, stat, err := r.read(jute.OpGetChildren2, path, false)
	return n.names, stat, err
}

func (r reader) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	n, stat, err := r.read(jute.OpGetChildren2, path, true)
	return n.names, stat, nil, err
}

// Count implements [watch.Directory]. The request that arms the watches of an earlier
// connection again arms one without a listing: given a zxid that is newer than any change,
// it announces nothing. The question goes out behind it, without waiting.
func (r reader) Count(path string, arm bool) (bool, *zk.Stat, error) {
	s := r.s
	var q *call
	if arm {
		frame := setWatchesFrame(jute.SetWatches{Zxid: math.MaxInt64, Child: []string{path}})
		q = s.newCall(s.c.report.ctx, purpose{"watch", s.c.relative(path)}, frame)
		q.watch = path
		s.start(q)
	}
	there, stat, err := r.exists(path, false)
	if err != nil || q == nil {
		return there, stat, err
	}
	select {
	case <-q.over: // what is asked later is answered later
	case <-s.Done():
		return false, nil, s.Err()
	}
	return there, stat, q.answer.err
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
	err := s.ask(ctx, purpose{"sync", "/"}, syncFrame("/")).err
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

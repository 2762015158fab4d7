package unqueued

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// Holder returns who holds l, and whether anyone does.
func (l Lock) Holder(ctx context.Context) (coord.Contender, bool, error) {
	who, held, err := l.holder(ctx)
	if err != nil {
		return coord.Contender{}, false, &coord.Error{Op: "holder", Path: l.Path, Err: err}
	}
	return who, held, nil
}

func (l Lock) holder(ctx context.Context) (who coord.Contender, held bool, err error) {
	if err := l.check(); err != nil {
		return who, false, err
	}
	n, err := l.get(ctx, l.C.FullPath(l.Path))
	if errors.Is(err, zk.ErrNoNode) {
		return who, false, nil
	}
	if err != nil {
		return who, false, err
	}
	if who = l.contender(n.data, *n.stat); who.Revoked {
		who.Label, err = l.labelOf(ctx, who.Token)
	}
	return who, err == nil, err
}

// Watch follows who holds l until ctx ends.
func (l Lock) Watch(ctx context.Context) *event.Stream[coord.Queue] {
	out, p := event.NewStream[coord.Queue]()
	end := func(err error) { p.Close(&coord.Error{Op: "watch", Path: l.Path, Err: err}) }
	if err := l.check(); err != nil {
		end(err)
		return out
	}
	ok := l.C.Go(func(context.Context) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		end(l.watch(ctx, p))
	})
	if !ok {
		end(coord.ErrClosed)
	}
	return out
}

// watch publishes who holds l, until ctx ends or the client is closed, and returns
// which.
func (l Lock) watch(ctx context.Context, p event.Publisher[coord.Queue]) error {
	var last, next coord.Queue
	published := false
	publish := func(q coord.Queue) {
		if !published || q.Suspended != last.Suspended || !slices.Equal(q.Contenders, last.Contenders) {
			p.Publish(q)
		}
		last, published = q, true
	}
	nodes := l.C.Watch(ctx, l.Path, event.Data)
	var label <-chan string // of next's holder, which has been revoked, while that is asked for
	for {
		select {
		case snap := <-nodes.Updates():
			next, label = coord.Queue{Suspended: snap.Suspended}, nil
			if snap.Exists {
				who := l.contender(snap.Data, snap.Stat)
				if was := last.Contenders; who.Revoked && len(was) > 0 && was[0].Token == who.Token {
					who.Label = was[0].Label
				} else if who.Revoked && !snap.Suspended {
					label = l.askLabel(ctx, who.Token)
				}
				next.Contenders = []coord.Contender{who}
			}
			if label == nil {
				publish(next)
			}
		case next.Contenders[0].Label = <-label:
			label = nil
			publish(next)
		case <-nodes.Done():
			return errors.Unwrap(nodes.Err())
		}
	}
}

// contender returns whom the znode at the path stands for. A revocation is written
// over the label.
func (l Lock) contender(data []byte, stat zk.Stat) coord.Contender {
	who := coord.Contender{
		Label:   string(data),
		Node:    path.Base(l.Path),
		Session: stat.EphemeralOwner,
		Token:   coord.Token(stat.Czxid),
		Since:   time.UnixMilli(stat.Ctime),
	}
	if who.Label == queue.Revocation {
		who.Label, who.Revoked = "", true
	}
	return who
}

// askLabel asks for the label of the holder with this token. If there is no answer,
// ctx has ended or the client is closed.
func (l Lock) askLabel(ctx context.Context, token coord.Token) <-chan string {
	answer := make(chan string, 1) // so that the goroutine ends even if nobody receives
	l.C.Go(func(context.Context) {
		if label, err := l.labelOf(ctx, token); err == nil {
			answer <- label
		}
	})
	return answer
}

// labelOf returns the label of the holder with this token, which its guard znode
// has too, empty if there is none to be read.
func (l Lock) labelOf(ctx context.Context, token coord.Token) (string, error) {
	dir := l.C.FullPath(l.Path) + claim.Suffix
	names, err := coord.Read(ctx, l.C, func(conn *zk.Conn) ([]string, error) {
		names, _, err := conn.Children(dir)
		return names, err
	})
	if err != nil && !coord.Refused(err) {
		return "", err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, claim.Prefix) {
			continue
		}
		n, err := l.get(ctx, dir+"/"+name)
		switch {
		case err == nil && n.stat.Czxid == int64(token):
			return string(n.data), nil
		case err != nil && !coord.Refused(err):
			return "", err
		}
	}
	return "", nil
}

// A znode is what get reads.
type znode struct {
	data []byte
	stat *zk.Stat
}

func (l Lock) get(ctx context.Context, full string) (znode, error) {
	return coord.Read(ctx, l.C, func(conn *zk.Conn) (znode, error) {
		data, stat, err := conn.Get(full)
		return znode{data, stat}, err
	})
}

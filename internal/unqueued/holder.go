package unqueued

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/async"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// Holder returns the holder of l, and whether there is one.
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
	n, err := l.get(ctx, l.Path)
	if err != nil || !n.Exists {
		return who, false, err
	}
	if who = l.contender(n.Data, n.Stat); who.Revoked {
		who.Label, err = l.labelOf(ctx, who.Token)
	}
	return who, err == nil, err
}

// Watch follows the holder of l until ctx ends.
func (l Lock) Watch(ctx context.Context) *event.Stream[coord.Contention] {
	return coord.NewStream(ctx, l.C, "watch", l.Path, func(ctx context.Context, p event.Publisher[coord.Contention]) error {
		if err := l.check(); err != nil {
			return err
		}
		return l.watch(ctx, p)
	})
}

// watch publishes the holder of l until ctx ends or the client is closed, and returns
// which.
func (l Lock) watch(ctx context.Context, p event.Publisher[coord.Contention]) error {
	var last, next coord.Contention
	published := false
	publish := func(q coord.Contention) {
		if !published || q.Suspended != last.Suspended || !slices.Equal(q.Contenders, last.Contenders) {
			p.Publish(q)
		}
		last, published = q, true
	}
	nodes := l.C.Watch(ctx, l.Path, event.Data)
	var asked <-chan label    // for next's holder, which has been revoked
	var known coord.Contender // the holder whose label was last known
	for {
		select {
		case snap := <-nodes.Updates():
			next, asked = coord.Contention{Suspended: snap.Suspended}, nil
			if snap.Exists {
				who := l.contender(snap.Data, coord.Stat(snap.Stat))
				switch {
				case !who.Revoked:
					known = who
				case known.Token == who.Token:
					who.Label = known.Label
				case !snap.Suspended:
					asked = l.askLabel(ctx, who.Token)
				}
				next.Contenders = []coord.Contender{who}
			}
			if asked == nil {
				publish(next)
			}
		case a := <-asked:
			if a.err != nil {
				return a.err
			}
			next.Contenders[0].Label, asked = a.text, nil
			known = next.Contenders[0]
			publish(next)
		case <-nodes.Done():
			return nodes.Err()
		}
	}
}

// contender returns whom the znode at the path stands for. A revocation is written
// over the label.
func (l Lock) contender(data []byte, stat coord.Stat) coord.Contender {
	who := coord.Contender{
		Label:   string(data),
		Node:    path.Base(l.Path),
		Session: coord.SessionID(stat.EphemeralOwner),
		Token:   coord.Token(stat.Czxid),
		Since:   time.UnixMilli(stat.Ctime),
		Holds:   true,
	}
	if who.Label == queue.Revocation {
		who.Label, who.Revoked = "", true
	}
	return who
}

// A label is the answer to askLabel.
type label struct {
	text string
	err  error // the end of ctx or of the client
}

// askLabel asks for the label of the holder with this token.
func (l Lock) askLabel(ctx context.Context, token coord.Token) <-chan label {
	return async.Go(l.C.Kit().Go, func(context.Context) label {
		text, err := l.labelOf(ctx, token)
		return label{text, err}
	})
}

// labelOf returns the label of the holder with this token, which its guard znode
// has too, empty if there is none to be read.
func (l Lock) labelOf(ctx context.Context, token coord.Token) (string, error) {
	dir := l.Path + claim.Suffix
	var names []string
	err := l.C.Kit().Retry(ctx, func(s *coord.Session) (err error) {
		names, _, err = s.Children(ctx, dir)
		return err
	})
	if err != nil && !l.C.Kit().Session().Refused(err) {
		return "", err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, claim.Prefix) {
			continue
		}
		n, err := l.get(ctx, dir+"/"+name)
		switch {
		case err == nil && n.Exists && n.Czxid == int64(token):
			return string(n.Data), nil
		case err != nil && !l.C.Kit().Session().Refused(err):
			return "", err
		}
	}
	return "", nil
}

func (l Lock) get(ctx context.Context, path string) (n coord.Node, err error) {
	err = l.C.Kit().Retry(ctx, func(s *coord.Session) error {
		n, err = s.Get(ctx, path)
		return err
	})
	return n, err
}

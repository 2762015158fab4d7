package queue

import (
	"context"
	"errors"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	watches "github.com/zkcoord/zkcoord/internal/watch"
)

// Watch follows who is in the queue of dir until ctx ends, as what face makes of
// it. While the connection is down the stream says nothing new.
func Watch[T any](ctx context.Context, c *coord.Client, op, dir string, face func([]Place) T) *event.Stream[T] {
	out, p := event.NewStream[T]()
	end := func(err error) { p.Close(&coord.Error{Op: op, Path: dir, Err: err}) }
	if err := (Entry{Dir: dir}).check(); err != nil {
		end(err)
		return out
	}
	ok := c.Go(func(life context.Context) {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		defer context.AfterFunc(life, func() { stop(context.Cause(life)) })()
		w := &watcher{
			c:       c,
			dir:     dir,
			bundle:  c.Bundle(),
			publish: func(all []Place) { p.Publish(face(all)) },
			held:    make(map[string]bool),
		}
		defer w.bundle.Close()
		end(w.run(ctx))
	})
	if !ok {
		end(coord.ErrClosed)
	}
	return out
}

// A watcher follows the directory of a queue and the znodes of those who hold: a
// revocation is written into these, and changes no listing.
type watcher struct {
	c       *coord.Client
	dir     string
	bundle  *watches.Set
	publish func([]Place)
	all     []Place
	listed  bool            // all is known
	held    map[string]bool // whose znodes are in bundle
}

// run publishes each new list of who is in the queue, until ctx ends, and returns
// why it ended.
func (w *watcher) run(ctx context.Context) error {
	w.bundle.Add(w.dir, event.Children, false)
	var last []Place
	for first := true; ; {
		select {
		case <-w.bundle.Ready():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		news, _ := w.bundle.Take()
		for _, n := range news {
			if err := w.take(ctx, n); err != nil {
				return err
			}
		}
		w.follow()
		if w.listed && (first || !slices.Equal(w.all, last)) {
			last, first = slices.Clone(w.all), false
			w.publish(last)
		}
	}
}

// take notes n. It returns an error only if that is the end.
func (w *watcher) take(ctx context.Context, n watches.Change) error {
	switch {
	case n.Kind == event.Children && n.Err != nil:
		return errors.Unwrap(n.Err)
	case n.Err != nil || n.Suspended:
		return nil
	case n.Kind == event.Data:
		i := slices.IndexFunc(w.all, func(p Place) bool { return coord.Child(w.dir, p.Node) == n.Path })
		if i >= 0 && n.Exists { // else a listing will tell
			w.all[i].show(n.Data)
		}
		return nil
	}
	known := make(map[string]Place)
	for _, p := range w.all {
		known[p.Node] = p
	}
	all, err := places(ctx, w.c, w.c.FullPath(w.dir), n.Snapshot.Children, known)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	w.all, w.listed = all, true
	return nil
}

// follow sees to it that the znodes followed are those of the holders.
func (w *watcher) follow() {
	held := make(map[string]bool)
	for i, p := range w.all {
		if i > 0 && !(Reads(p.Node) && Reads(w.all[0].Node)) {
			break
		}
		held[p.Node] = true
		if !w.held[p.Node] {
			w.bundle.Add(coord.Child(w.dir, p.Node), event.Data, true)
		}
	}
	for node := range w.held {
		if !held[node] {
			w.bundle.Drop(coord.Child(w.dir, node), event.Data)
		}
	}
	w.held = held
}

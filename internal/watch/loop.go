package watch

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// maxReads bounds the reads in flight at a time: after a reconnect everything
// that is followed is read again, however much that is.
const maxReads = 8

// A Loop owns every watch of one client. Clients make theirs; a program has no
// need to.
//
// One goroutine owns all its state. Events, the link's ups and downs,
// subscriptions and the results of reads reach it through one unbounded inbox,
// so that nothing can be lost and nobody who posts can block. Events are hints:
// on any event, and on every reconnect, the loop reads again.
type Loop struct {
	source Source
	inbox  inbox
	done   chan struct{} // closed when the loop and all its reads are over

	// Owned by the goroutine of run.
	entries map[key]*entry
	pending []*entry // to be read, in order
	reads   int      // in flight
	epoch   int      // counts sessions; a read begun in an earlier one is void
	link    int      // counts connections; of a watch armed on an earlier one the fate is open
	down    bool     // the link is
}

// A Source is where a [Loop] reads.
type Source interface {
	// Request calls f with a connection once a session is established, and
	// returns its error; or an error of its own if there can be no connection
	// any more. It may block; each call is on a goroutine of its own. If it
	// returns an error, f may be running still.
	Request(f func(Conn) error) error
	// Refused reports whether err is the ensemble's answer, and no accident of
	// the connection after which it makes sense to ask again.
	Refused(err error) bool
	// Ended returns what a stream on path, as its subscriber wrote it, shall
	// say of its end for the reason cause.
	Ended(path string, cause error) error
}

// NewLoop starts a loop that reads from source.
func NewLoop(source Source) *Loop {
	l := &Loop{
		source:  source,
		inbox:   inbox{wake: make(chan struct{}, 1)},
		done:    make(chan struct{}),
		entries: make(map[key]*entry),
		down:    true,
	}
	go l.run()
	return l
}

// Watch follows kind at the absolute path until ctx ends. Snapshots call the
// path as. The stream has its first value when the ensemble has given one, and
// that is no older than any answer that the caller has seen before.
func (l *Loop) Watch(ctx context.Context, path, as string, kind event.Kind) *event.Stream[event.Snapshot] {
	return l.watch(ctx, key{path, kind, false}, as)
}

// WatchUntilDeleted follows the data of a znode that is not expected to come back, such as
// one with an id in its name. It differs from a Watch of kind Data in that
// it leaves no watch behind for a creation that will not come, and so says
// nothing more once the znode is gone, unless somebody else begins to follow it.
func (l *Loop) WatchUntilDeleted(ctx context.Context, path, as string) *event.Stream[event.Snapshot] {
	return l.watch(ctx, key{path, event.Data, true}, as)
}

func (l *Loop) watch(ctx context.Context, k key, as string) *event.Stream[event.Snapshot] {
	if k.kind < event.Presence || k.kind > event.Children {
		return event.Ended[event.Snapshot](l.source.Ended(as, fmt.Errorf("event: invalid kind %d", k.kind)))
	}
	if ctx.Err() != nil {
		return event.Ended[event.Snapshot](l.source.Ended(as, context.Cause(ctx)))
	}
	s, p := event.NewStream[event.Snapshot]()
	sub := &subscription{key: k, ctx: ctx, as: as, out: streamSink{p}}
	if !l.inbox.post(func() { l.subscribe(sub) }) {
		p.Close(l.source.Ended(as, l.inbox.cause()))
	}
	return s
}

// Event takes an event from go-zookeeper's callback. It does not block.
func (l *Loop) Event(ev zk.Event) {
	l.inbox.post(func() { l.event(ev) })
}

// Suspend marks all that streams last delivered as uncertain: the link is down.
func (l *Loop) Suspend() {
	l.inbox.post(l.suspend)
}

// Resume reads again all that is followed: the link is up, and, if newSession is set,
// in another session, which has no watches yet.
func (l *Loop) Resume(newSession bool) {
	l.inbox.post(func() { l.resume(newSession) })
}

// Rearmed says that the server has taken over the watches on these full paths
// after a reconnect, and has told what had changed.
func (l *Loop) Rearmed(data, exist, child []string) {
	l.inbox.post(func() {
		l.rearmed(onData, data)
		l.rearmed(onExist, exist)
		l.rearmed(onChild, child)
	})
}

// Close ends every stream with cause and waits for the loop's goroutines. The
// source must have begun to fail its requests.
func (l *Loop) Close(cause error) {
	l.inbox.close(cause)
	<-l.done
}

func (l *Loop) run() {
	defer close(l.done)
	for {
		posts, cause := l.inbox.take()
		for _, do := range posts {
			do()
		}
		if cause == nil {
			continue
		}
		for _, e := range l.entries {
			l.end(e, cause)
		}
		if l.reads == 0 {
			return
		}
	}
}

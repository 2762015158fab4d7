package watch

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/backoff"
	"github.com/zkcoord/zkcoord/internal/inbox"
)

// maxReads bounds the reads in flight at a time: after a reconnect everything that is
// followed is read again, however much that is. More would not be faster, since the
// session admits no more requests at a time, and each takes a goroutine.
const maxReads = 8

// pausePerChild is the pause, for each child it has, between two listings of a
// directory. It batches bursts; the first change after a pause is read at once.
const pausePerChild = 50 * time.Microsecond

// pausePerCount is the pause, for each child it has, after a read of a directory that did
// without listing it. Whoever follows the directory looks at each child all the same.
const pausePerCount = 500 * time.Nanosecond

// A Loop owns every watch of one client.
//
// One goroutine owns all its state. All that happens reaches it through one inbox, in
// the order in which it happened. The inbox has no bound, because what is reported comes
// from the goroutine that reads the connection and from under the client's mutex, where
// nothing may block. The entries decide what is to be done, and the loop does it.
type Loop struct {
	source Source
	inbox  *inbox.Inbox[message]
	done   chan struct{} // closed when the loop's goroutine is about to end
	reads  sync.WaitGroup

	// Owned by the goroutine of run.
	followed map[key]*followed
	due      list.List // of *followed, to be read in order; some may not need it any more
	reading  int       // reads under way in this session; at most maxReads
	session  int       // counts sessions, to tell the answers of one from those of the next
	down     bool      // there is no connection
	roots    roots     // see root.go
	do       actions   // room for those of one step
}

// NewLoop starts a loop that reads from source.
func NewLoop(source Source) *Loop {
	l := &Loop{
		source:   source,
		inbox:    inbox.New[message](),
		done:     make(chan struct{}),
		followed: make(map[key]*followed),
		down:     true,
		roots:    make(roots),
	}
	go l.run()
	return l
}

// Watch follows kind at the absolute path until ctx ends. In snapshots the path is as.
// The stream has its first value when the ensemble has answered. That value is no older
// than any answer that the caller has seen before.
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

// WatchBaton follows a znode that somebody creates, perhaps writes to once, and deletes
// in the same transaction. It differs from WatchUntilDeleted in how it ends: if the
// znode was written to, and this was seen in the connection in which the watch was
// armed, the last snapshot does not exist and has Version 1; and this takes no request.
// Otherwise the last snapshot has Version 0.
func (l *Loop) WatchBaton(ctx context.Context, path, as string) *event.Stream[event.Snapshot] {
	return l.watch(ctx, key{path, baton, true}, as)
}

func (l *Loop) watch(ctx context.Context, k key, as string) *event.Stream[event.Snapshot] {
	if k.kind < event.Presence || k.kind > baton {
		return event.Ended[event.Snapshot](l.source.Ended(as, fmt.Errorf("event: invalid kind %d", k.kind)))
	}
	if ctx.Err() != nil {
		return event.Ended[event.Snapshot](l.source.Ended(as, context.Cause(ctx)))
	}
	s, p := event.NewStream[event.Snapshot]()
	sub := &subscription{key: k, ctx: ctx, as: as, out: streamSink{p}}
	if err := l.inbox.Put(message{input: input{kind: subscribe, sub: sub}}); err != nil {
		p.Close(l.source.Ended(as, err))
	}
	return s
}

// Event takes an event from the connection. Like the methods below, except Close
// and Wait, it does not block.
func (l *Loop) Event(ev zk.Event) {
	l.post(message{input: input{kind: fired, event: ev.Type}, paths: []string{ev.Path}})
}

// Suspend says that the connection is lost.
func (l *Loop) Suspend() { l.post(message{input: input{kind: suspended}}) }

// Resume says that there is a connection again or, with newSession, one in
// another session, which has no watches yet.
func (l *Loop) Resume(newSession bool) {
	l.post(message{input: input{kind: resumed, newSession: newSession}})
}

// Rearmed says that the server has taken over the watches on these paths after a
// reconnect, and that Event has been called for what had changed.
func (l *Loop) Rearmed(data, exist, child []string) {
	for i, w := range [...]watch{onData, onExist, onChild} {
		l.post(message{input: input{kind: rearmed, watch: w}, paths: [...][]string{data, exist, child}[i]})
	}
}

// Replied says that the server has answered r, which [Read.Lists], and that Event has been
// called for all that it has told before, and not for what it tells after that.
func (l *Loop) Replied(r *Read) { l.post(message{input: input{kind: responded, read: r}}) }

// Close ends every stream with cause. No read begins any more when it returns.
func (l *Loop) Close(cause error) {
	l.inbox.Close(cause)
	<-l.done
}

// Wait waits, after Close, for the reads that are under way.
func (l *Loop) Wait() { l.reads.Wait() }

// post puts m into the inbox. Once the loop is closed nothing matters any more.
func (l *Loop) post(m message) { _ = l.inbox.Put(m) }

// run handles messages until the loop is closed. Reads begin only between batches of
// messages: what is in one batch may make a read unnecessary, or void.
func (l *Loop) run() {
	defer close(l.done)
	for {
		<-l.inbox.Ready()
		messages, cause := l.inbox.Take()
		for _, m := range messages {
			l.handle(m)
		}
		if cause != nil {
			l.all(input{kind: closed, err: cause})
			return
		}
		l.begin()
	}
}

// handle gives m to the entries that it is for.
func (l *Loop) handle(m message) {
	switch m.kind {
	case subscribe:
		l.subscribe(m.input)
	case unsubscribe:
		l.at(m.sub.key, m.input)
	case fired, rearmed:
		if m.kind == fired {
			l.tellDirectory(m.event, m.paths[0])
		}
		for _, path := range m.paths {
			for _, k := range keysAt(path) {
				l.at(k, m.input)
			}
		}
	case suspended:
		l.down = true
		l.all(m.input)
	case resumed:
		l.down = false
		l.forgive()
		if m.newSession {
			// Reads of the last one are void, and are no reason to wait.
			l.session++
			l.reading = 0
			l.roots.wither()
		}
		l.all(m.input)
	case root:
		l.roots.add(m.paths[0])
	case unroot:
		l.uproot(m.paths[0])
	case responded:
		l.at(m.read.key, m.input)
	case rested:
		if f := l.followed[m.rested]; f != nil && f.state == queued {
			l.enqueue(f)
		}
	default:
		// A read of an earlier session is not counted any more. Its entry ignores it.
		if m.session == l.session {
			l.reading--
		}
		if f := l.followed[m.read.key]; f != nil {
			f.rest(m.input)
			l.step(f, m.input)
		}
	}
}

// subscribe makes an entry if there is none, and gives in to it. The context of a stream
// counts from here on, and not from Watch: so the message that says that it has ended
// comes after the one that said that the stream has come.
func (l *Loop) subscribe(in input) {
	sub := in.sub
	if l.followed[sub.key] == nil {
		l.followed[sub.key] = &followed{
			entry:   entry{key: sub.key, down: l.down},
			backoff: backoff.Backoff{Min: 5 * time.Millisecond, Max: time.Second},
		}
	}
	if sub.ctx != nil {
		sub.stop = context.AfterFunc(sub.ctx, func() {
			// The stream ends now, and not when the loop comes to it, which may be busy.
			sub.out.Close(l.source.Ended(sub.as, context.Cause(sub.ctx)))
			l.post(message{input: input{kind: unsubscribe, sub: sub}})
		})
	}
	l.at(sub.key, in)
}

// at gives in to the entry of k. If there is none, all its subscribers have left and it
// was forgotten, so nobody cares.
func (l *Loop) at(k key, in input) {
	if f := l.followed[k]; f != nil {
		l.step(f, in)
	}
}

// all gives in to every entry.
func (l *Loop) all(in input) {
	for _, k := range l.keys() {
		l.at(k, in)
	}
}

// step gives in to f and does what f wants done. None of that calls step again, so one
// slice of actions serves all steps.
func (l *Loop) step(f *followed, in input) {
	do := l.do[:0]
	f.step(in, &do)
	for _, a := range do {
		l.act(f, a)
	}
	clear(do)
	l.do = do
}

// act does what the entry f wants done.
func (l *Loop) act(f *followed, a action) {
	switch a.verb {
	case enqueue:
		l.enqueue(f)
	case read:
		l.reading++
		answer := message{input: input{kind: answered, read: a.read}, session: l.session}
		l.reads.Go(func() { l.read(answer) })
	case deliver:
		a.snap.Path = a.sub.as
		a.sub.out.Publish(a.snap)
	case tellUpToDate:
		a.sub.out.setUpToDate(a.upToDate)
	case end:
		if a.sub.stop != nil { // or the context would keep the subscription until it ends
			a.sub.stop()
		}
		a.sub.out.Close(l.source.Ended(a.sub.as, a.err))
	case forget:
		l.leaveDue(f)
		delete(l.followed, f.key)
		if len(l.followed) == 0 {
			l.followed = make(map[key]*followed) // a map keeps the room for the most it ever had
		}
	}
}

// read makes the read of m, and says what has become of it.
func (l *Loop) read(m message) {
	m.answer, m.err = l.source.Read(m.read)
	switch {
	case m.err == nil:
	case l.source.Refused(m.err):
		m.kind = refused
	default:
		m.kind = failed
	}
	l.post(m)
}

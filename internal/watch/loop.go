package watch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/inbox"
)

// maxReads bounds the reads in flight at a time: after a reconnect everything
// that is followed is read again, however much that is.
const maxReads = 8

// pausePerChild is the pause, for each child it has, between two listings of a
// directory. It batches bursts; the first change after a pause is read at once.
const pausePerChild = 50 * time.Microsecond

// A Loop owns every watch of one client.
//
// One goroutine owns all its state. What happens reaches it through one inbox, so
// that nothing is lost and nobody who reports it can block.
type Loop struct {
	source Source
	inbox  *inbox.Inbox[message]
	done   chan struct{} // closed when the loop is over
	reads  sync.WaitGroup

	// Owned by the goroutine of run.
	followed map[key]*followed
	queue    []*followed // to be read, in order
	reading  int         // reads in flight
	down     bool        // the connection is
	do       actions     // room for those of one step
}

// A followed is an entry with what the loop keeps for it.
type followed struct {
	entry
	notBefore time.Time // no read shall begin before; see pausePerChild
}

// NewLoop starts a loop that reads from source.
func NewLoop(source Source) *Loop {
	l := &Loop{
		source:   source,
		inbox:    inbox.New[message](),
		done:     make(chan struct{}),
		followed: make(map[key]*followed),
		down:     true,
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
	if err := l.inbox.Put(subscribed{sub}); err != nil {
		p.Close(l.source.Ended(as, err))
	}
	return s
}

// Event takes an event from go-zookeeper's callback. It does not block.
func (l *Loop) Event(ev zk.Event) { _ = l.inbox.Put(heard{ev}) }

// Suspend marks all that streams last delivered as uncertain: the connection is down.
func (l *Loop) Suspend() { _ = l.inbox.Put(suspended{}) }

// Resume reads again all that is followed: the connection is up, and, if newSession is set,
// in another session, which has no watches yet.
func (l *Loop) Resume(newSession bool) { _ = l.inbox.Put(resumed{newSession}) }

// Rearmed says that the server has taken over the watches on these full paths
// after a reconnect, and has told what had changed.
func (l *Loop) Rearmed(data, exist, child []string) { _ = l.inbox.Put(rearmedOn{data, exist, child}) }

// Close ends every stream with cause and waits for the loop's goroutines. The
// source must have begun to fail its requests.
func (l *Loop) Close(cause error) {
	l.inbox.Close(cause)
	<-l.done
	l.reads.Wait()
}

func (l *Loop) run() {
	defer close(l.done)
	for {
		<-l.inbox.Ready()
		messages, cause := l.inbox.Take()
		for _, m := range messages {
			l.handle(m)
		}
		if cause != nil {
			for _, f := range l.followed {
				l.step(f, input{kind: shut, err: cause})
			}
			return
		}
		l.begin()
	}
}

func (l *Loop) handle(m message) {
	switch m := m.(type) {
	case subscribed:
		l.subscribe(m.sub)
	case unsubscribed:
		if f := l.followed[m.sub.key]; f != nil {
			l.step(f, input{kind: unsubscribe, sub: m.sub})
		}
	case heard:
		for _, k := range keysAt(m.Path) {
			if f := l.followed[k]; f != nil {
				l.step(f, input{kind: fired, event: m.Type})
			}
		}
	case suspended:
		l.down = true
		for _, f := range l.followed {
			l.step(f, input{kind: suspend})
		}
	case resumed:
		l.down = false
		for _, f := range l.followed {
			l.step(f, input{kind: resume, newSession: m.newSession})
		}
	case rearmedOn:
		l.rearmed(onData, m.data)
		l.rearmed(onExist, m.exist)
		l.rearmed(onChild, m.child)
	case rested:
		l.queue = append(l.queue, m.f)
	case answer:
		l.answered(m)
	}
}

func (l *Loop) subscribe(sub *subscription) {
	f := l.followed[sub.key]
	if f == nil {
		f = &followed{entry: entry{key: sub.key, down: l.down}}
		l.followed[sub.key] = f
	}
	sub.stop = func() bool { return false }
	if sub.ctx != nil {
		sub.stop = context.AfterFunc(sub.ctx, func() {
			sub.out.Close(l.source.Ended(sub.as, context.Cause(sub.ctx)))
			_ = l.inbox.Put(unsubscribed{sub})
		})
	}
	l.step(f, input{kind: subscribe, sub: sub})
}

func (l *Loop) rearmed(w watch, paths []string) {
	for _, path := range paths {
		for _, k := range keysAt(path) {
			if f := l.followed[k]; f != nil {
				l.step(f, input{kind: rearmed, watch: w})
			}
		}
	}
}

func (l *Loop) answered(a answer) {
	l.reading--
	in := input{kind: answered, snap: a.snap, watch: a.armed, err: a.err}
	switch {
	case a.err != nil && l.source.Refused(a.err):
		in.kind = refused
	case a.err != nil:
		in.kind = failed
	case len(a.snap.Children) > 0:
		a.f.notBefore = time.Now().Add(min(time.Duration(len(a.snap.Children))*pausePerChild, time.Second))
	}
	l.step(a.f, in)
}

// begin begins reads that are due, as many as may be in flight.
func (l *Loop) begin() {
	for len(l.queue) > 0 && l.reading < maxReads {
		f := l.queue[0]
		l.queue[0] = nil // the array stays for as long as there are others in it
		l.queue = l.queue[1:]
		l.step(f, input{kind: begin})
	}
	if len(l.queue) == 0 {
		l.queue = nil // nor does the array stay
	}
}

// step gives in to f and does what f wants done.
func (l *Loop) step(f *followed, in input) {
	do := l.do[:0]
	f.step(in, &do)
	for _, a := range do {
		switch a.verb {
		case enqueue:
			if wait := time.Until(f.notBefore); wait > 0 {
				time.AfterFunc(wait, func() { _ = l.inbox.Put(rested{f}) })
			} else {
				l.queue = append(l.queue, f)
			}
		case read:
			l.reading++
			l.reads.Go(func() { l.read(f, readRequest{f.key, a.arm, a.snap}) })
		case publish:
			a.snap.Path = a.sub.as
			a.sub.out.Publish(a.snap)
		case tellUpToDate:
			a.sub.out.setUpToDate(a.upToDate)
		case end:
			a.sub.stop()
			a.sub.out.Close(l.source.Ended(a.sub.as, a.err))
		case forget:
			delete(l.followed, f.key)
			if len(l.followed) == 0 {
				l.followed = make(map[key]*followed) // a map keeps the room for the most it ever had
			}
		}
	}
	clear(do)
	l.do = do
}

func (l *Loop) read(f *followed, r readRequest) {
	a := answer{f: f}
	got := make(chan answer, 1) // Request may leave f behind and return
	err := l.source.Request(func(c Conn) error {
		a := answer{f: f}
		a.snap, a.armed, a.err = r.read(c)
		got <- a
		return a.err
	})
	if err == nil {
		a = <-got
	}
	a.err = err
	_ = l.inbox.Put(a)
}

// A subscription is one stream's share in an entry.
type subscription struct {
	key
	ctx  context.Context // nil if it ends otherwise
	as   string          // the path as the subscriber wrote it
	out  sink
	stop func() bool // withdraws what waits for ctx to end; set by subscribe

	owed     owed // what its first snapshot must come from
	upToDate bool // as out has been told
}

// A sink is where the snapshots of a subscription go.
type sink interface {
	Publish(event.Snapshot)
	Close(error)
	// setUpToDate says whether the last snapshot holds until an event says otherwise.
	// What is read after a change is always preceded by setUpToDate(false) for
	// everything that changed with it.
	setUpToDate(bool)
}

// A streamSink is the sink that is a stream. Its receiver is not told more than
// the snapshots.
type streamSink struct {
	event.Publisher[event.Snapshot]
}

func (streamSink) setUpToDate(bool) {}

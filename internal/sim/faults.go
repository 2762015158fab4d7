package sim

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/history"
)

// A fault is one that was injected. It counts as met once it has hit something.
type fault struct {
	w    *world
	kind string
	hits string // a client or a server, if it is one
	op   int64
	met  bool // guarded by w.mu
}

// inject notes that a fault of l begins.
func (w *world) inject(l Line, hits string) *fault {
	f := &fault{w: w, kind: l.verb(), hits: hits, op: w.nextFault()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.Injected[f.kind]++
	w.rec.Record(history.Event{Proc: "nemesis", Kind: history.Fault, F: f.kind, Value: hits, Op: f.op, Path: l.path()})
	return f
}

// meet notes that f has hit something.
func (f *fault) meet() {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if !f.met {
		f.met = true
		f.w.result.Met[f.kind]++
	}
}

func (f *fault) meetIf(hit bool) {
	if hit {
		f.meet()
	}
}

// healed notes that f has ended.
func (f *fault) healed() {
	f.w.rec.Record(history.Event{Proc: "nemesis", Kind: history.Healed, F: f.kind, Value: f.hits, Op: f.op})
}

func (w *world) cut(l Line) {
	c := w.clients[l.client()]
	f := w.inject(l, c.name)
	f.meetIf(c.up())
	heal := c.link.Cut()
	w.later(l.dur(0), func() {
		heal()
		f.healed()
	})
}

func (w *world) reset(l Line) {
	c := w.clients[l.client()]
	w.inject(l, c.name).meetIf(c.up())
	c.link.Reset()
}

func (w *world) stall(l Line) {
	c := w.clients[l.client()]
	s := &stall{fault: w.inject(l, c.name), dir: l.dir()}
	heal := c.link.Stall(s.dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stalls = append(c.stalls, s)
	dials, wasUp := c.dials, c.up()
	w.later(l.dur(0), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		s.meetIf(wasUp && (dials != c.dials || !c.up()))
		s.ended = time.Now()
		heal()
		s.healed()
	})
}

// patience is how long a snare waits for its frame.
const patience = 20 * time.Second

func (w *world) lose(l Line)     { w.snare(l, coordtest.Drop) }
func (w *world) tear(l Line)     { w.snare(l, coordtest.HangUp) }
func (w *world) tearLate(l Line) { w.snare(l, coordtest.PassAndHangUp) }

func (w *world) snare(l Line, a coordtest.Action) {
	c := w.clients[l.client()]
	s := &snare{w.inject(l, c.name), l.dir(), l.param("OP", 0), a}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.snares = append(c.snares, s)
	w.later(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.snares = slices.DeleteFunc(c.snares, func(other *snare) bool { return other == s })
	})
}

// expire has an operator end a session.
func (w *world) expire(l Line) {
	c := w.clients[l.client()]
	id := c.Kit().Session().ID()
	w.inject(l, c.name).meetIf(slices.Contains(w.Fake.Sessions(), id))
	w.Fake.Expire(id)
}

// pause stops a program for longer than its session lives. The clock of a client cannot be
// stopped, so the servers' runs on instead: the session ends at once, the program learns of
// it when the pause is over, and for the others that is how long it has taken. A program
// that goes on does what it was about to do before it looks whether it has lost anything.
func (w *world) pause(l Line) {
	c := w.clients[l.client()]
	goOn := c.stop()
	if goOn == nil {
		return
	}
	f := w.inject(l, c.name)
	f.meetIf(c.up())
	heal := c.link.Stall(coordtest.Both)
	w.Fake.Expire(c.Kit().Session().ID())
	w.later(l.dur(0), func() {
		goOn()
		heal()
		f.healed()
	})
}

// freeze stops the servers.
func (w *world) freeze(l Line) {
	f := w.inject(l, "servers")
	thaw := w.Fake.Freeze()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen = append(w.frozen, f)
	w.later(l.dur(0), func() {
		w.mu.Lock()
		w.frozen = slices.DeleteFunc(w.frozen, func(other *fault) bool { return other == f })
		w.mu.Unlock()
		thaw()
		f.healed()
	})
}

// isolate cuts a server, which leads, off from the others, and not from its clients.
func (w *world) isolate(l Line) {
	server := servers[l.number()%len(servers)]
	w.mu.Lock()
	busy := w.isolated != nil
	w.mu.Unlock()
	if busy {
		return
	}
	f := w.inject(l, server)
	heal := w.Fake.Isolate(server)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isolated = f
	w.later(l.dur(0), func() {
		w.mu.Lock()
		w.isolated = nil
		w.mu.Unlock()
		heal()
		f.healed()
	})
}

// passes notes which faults a frame meets on its way to server.
func (w *world) passes(f coordtest.Frame, server string) {
	if f.Dir != coordtest.ToServer {
		return
	}
	w.mu.Lock()
	met := slices.Clone(w.frozen)
	if w.isolated != nil && w.isolated.hits == server {
		met = append(met, w.isolated)
	}
	for dir, denial := range w.denied {
		if f.Path == dir || strings.HasPrefix(f.Path, dir+"/") {
			met = append(met, denial)
		}
	}
	w.mu.Unlock()
	for _, f := range met {
		f.meet()
	}
}

// remove has an operator delete a znode of a directory: the n-th in the order of their
// numbers, or of their names if they have none.
func (w *world) remove(l Line) {
	f := w.inject(l, "")
	w.operate(func(op *zk.Conn) error {
		names, _, err := op.Children(l.path())
		if err != nil || len(names) == 0 {
			return err
		}
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(tail(a)+a, tail(b)+b) })
		name := names[l.number()%len(names)]
		if err = op.Delete(path.Join(l.path(), name), -1); err == nil {
			f.meet()
		}
		return err
	})
}

// tail returns the number at the end of a name, if there is one.
func tail(name string) string { return name[max(0, len(name)-10):] }

// deny has an operator take away all permissions for a directory.
func (w *world) deny(l Line) {
	dir := l.path()
	w.mu.Lock()
	_, busy := w.denied[dir]
	w.mu.Unlock()
	if busy {
		return
	}
	f := w.inject(l, "")
	w.operate(func(op *zk.Conn) error {
		_, err := op.SetACL(dir, zk.WorldACL(zk.PermAdmin), -1)
		if err == nil {
			w.mu.Lock()
			w.denied[dir], w.everDenied = f, true
			w.mu.Unlock()
		}
		return err
	})
	w.later(l.dur(0), func() {
		w.operate(func(op *zk.Conn) error {
			_, err := op.SetACL(dir, zk.WorldACL(zk.PermAll), -1)
			if err == nil || errors.Is(err, zk.ErrNoNode) {
				w.mu.Lock()
				delete(w.denied, dir)
				w.mu.Unlock()
			}
			return err
		})
		f.healed()
	})
}

// fill uses up the sequence numbers of a directory, but for a few.
func (w *world) fill(l Line) {
	f := w.inject(l, "")
	if w.Fake.SetSequence(l.path(), 1<<31-1-int32(l.number())) == nil {
		f.meet()
		w.mu.Lock()
		w.filled = true
		w.mu.Unlock()
	}
}

// operate does something as the operator, until the servers answer.
func (w *world) operate(f func(op *zk.Conn) error) {
	w.ops.Go(func() {
		for {
			err := f(w.Op())
			switch {
			case err == nil, errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNotEmpty), errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoAuth):
				return
			case w.ctx.Err() != nil, w.Operator().Kit().Session().Err() == coord.ErrClosed:
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

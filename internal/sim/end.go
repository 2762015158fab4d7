package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/history"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/lock/leader"
	"github.com/zkcoord/zkcoord/lock/semaphore"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/members/barrier"
	"github.com/zkcoord/zkcoord/rwlock"
)

// inTheEnd is how long everything may take that must come once the faults are over.
const inTheEnd = 5 * time.Minute

// end checks what must hold once the faults are over: who waits proceeds, everything can be
// acquired, views come to what there is, and counts are exact. Then it ends the world.
func (w *world) end(cancel func()) {
	w.openGates()
	if !w.eventually(func() bool { return len(w.unfinished()) == 0 }) {
		w.violate("stuck", "%s\n%s", strings.Join(w.unfinished(), "\n"), w.Fake.Tree())
		return
	}
	// The servers remove directories that nobody uses. One whose numbers are used up
	// can be used again after that.
	w.Fake.Reap()
	w.Fake.Reap()
	for _, path := range w.paths() {
		w.proveBarrier(path)
		w.prove(path)
		if w.violated() {
			return
		}
	}
	time.Sleep(10 * time.Second) // in which streams show the last values
	w.finals()
	cancel()
	w.views.Wait()
	w.result.Events = sorted(w.rec.Events())
	w.inOrder()
}

// inOrder checks that no guarded write was carried out after one with a greater token, by
// the ensemble's own order. The history knows only when answers came.
func (w *world) inOrder() {
	var all []history.Event
	calls := make(map[string]history.Event)
	for _, e := range w.result.Events {
		key := fmt.Sprint(e.Proc, e.Op)
		switch {
		case e.F == history.Guarded:
			calls[key] = e
		case e.Kind == history.OK && calls[key].Path != "":
			e.Path, e.Token = calls[key].Path, calls[key].Token
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b history.Event) int { return cmp.Compare(a.Zxid, b.Zxid) })
	greatest := make(map[string]history.Event)
	for _, e := range all {
		if before := greatest[e.Path]; before.Token > e.Token {
			w.violate("guards", "%s: a write of %s with token %#x, after one of %s with %#x", e.Path, e.Proc, e.Token, before.Proc, before.Token)
		}
		greatest[e.Path] = e
	}
}

// sorted puts the events of different operations at the same time in an order that is always
// the same.
func sorted(events []history.Event) []history.Event {
	slices.SortStableFunc(events, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Proc, b.Proc), cmp.Compare(a.Op, b.Op))
	})
	return events
}

// eventually waits until ok is true, and reports whether it is.
func (w *world) eventually(ok func() bool) bool {
	for deadline := time.Now().Add(inTheEnd); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) || w.violated() {
			return false
		}
	}
	return true
}

// unfinished returns the lines of operations that have not ended.
func (w *world) unfinished() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.running))
}

// paths returns the paths of the script, sorted.
func (w *world) paths() []string {
	all := make(map[string]bool)
	for _, l := range w.script.Lines {
		for i := 0; l.param("PATH", i) != ""; i++ {
			all[l.param("PATH", i)] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (w *world) openGates() {
	for _, path := range w.paths() {
		if strings.HasPrefix(path, "/gate/") {
			w.soon("open "+path, barrier.NewGate(w.clients[1].Client, path).Open)
		}
	}
}

// soon does what must succeed by now.
func (w *world) soon(what string, f func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(w.ctx, inTheEnd)
	defer cancel()
	for {
		err := f(ctx)
		if errors.Is(err, coord.ErrUnknown) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			w.violate("stuck", "%s: %v\n%s", what, err, w.Fake.Tree())
		}
		return
	}
}

// last is the label, and the value, of the last one that acquires something.
const last = "last"

// prove acquires what is at path, and checks that all who follow it see that, and see it go.
func (w *world) prove(path string) {
	c, shown := w.clients[1].Client, last
	recipe, _, _ := strings.Cut(path[1:], "/")
	var acquire func(ctx context.Context) *coord.Hold
	switch recipe {
	case "lock":
		acquire = lock.New(c, path, lock.Label(last)).Acquire
	case "claim":
		acquire = lock.NewUnqueued(c, path, lock.Label(last)).Acquire
	case "rwlock":
		acquire = rwlock.New(c, path, rwlock.Label(last)).AcquireWrite
	case "semaphore":
		acquire = func(ctx context.Context) *coord.Hold {
			now, err := semaphore.New(c, path, permits).Contenders(ctx)
			if err != nil {
				return coord.EndedHold("acquire", path, err)
			}
			return semaphore.New(c, path, cmp.Or(now.Permits, permits), semaphore.Label(last)).Acquire(ctx)
		}
	case "leader":
		shown = last + "=" + last
		acquire = func(ctx context.Context) *coord.Hold {
			return leader.New(c, path, leader.Label(last)).Campaign(ctx, []byte(last))
		}
	case "members":
		shown = last + "=" + last
		acquire = func(ctx context.Context) *coord.Hold {
			return members.New(c, path).Join(ctx, members.Member{ID: last, Data: []byte(last)})
		}
	default:
		return
	}
	w.soon("acquire "+path, func(ctx context.Context) error {
		for {
			h := acquire(ctx)
			err := h.Wait()
			if errors.Is(err, coord.ErrExpired) { // a session that was about to end
				continue
			}
			if err != nil {
				return err
			}
			w.show(path, shown)
			err = h.Release(ctx)
			w.show(path, "")
			return err
		}
	})
}

// proveBarrier lets a crowd through the barrier at path. A round of which all have died stays
// open until somebody comes.
func (w *world) proveBarrier(path string) {
	if !strings.HasPrefix(path, "/barrier/") || w.script.Clients < crowd {
		return
	}
	var all sync.WaitGroup
	for _, c := range w.clients[1 : 1+crowd] {
		all.Go(func() {
			w.soon("enter "+path, func(ctx context.Context) error {
				for {
					h := barrier.New(c.Client, path, crowd).Enter(ctx, c.name)
					if err := h.Wait(); !errors.Is(err, coord.ErrExpired) {
						return cmp.Or(err, h.Release(ctx))
					}
				}
			})
		})
	}
	all.Wait()
}

// show waits until all views of path are as they must be.
func (w *world) show(path, want string) {
	wrong := func() (all []string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, v := range w.following {
			if got := v.get(); v.path() == path && got != want {
				all = append(all, fmt.Sprintf("%s: shows %q, not %q", v.Line, got, want))
			}
		}
		return all
	}
	if !w.eventually(func() bool { return len(wrong()) == 0 }) {
		w.violate("view", "%s\n%s", strings.Join(wrong(), "\n"), w.Fake.Tree())
	}
}

// finals records what values are in the end.
func (w *world) finals() {
	for i, path := range w.paths() {
		e := history.Event{Proc: "operator", Kind: history.Call, F: history.Final, Path: path, Op: int64(i + 1)}
		recipe, _, _ := strings.Cut(path[1:], "/")
		switch recipe {
		case "config":
			e.Recipe = history.Config
		case "counter":
			e.Recipe = history.Counter
		default:
			continue
		}
		w.rec.Record(e)
		data, _, err := w.Op().Get(path)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			w.violate("stuck", "read %s: %v", path, err)
		}
		e.Kind, e.Value = history.OK, string(data)
		if e.Recipe == history.Counter && e.Value == "" {
			e.Value = "0"
		}
		w.rec.Record(e)
	}
}

// lasting are the first parts of paths that may be there when all clients are gone.
var lasting = []string{"/stored", "/gate", "/barrier", "/config", "/counter", "/tree", "/queue", "/semaphore", "/_zkcoord", "/harness"}

// nothingLeft checks that the clients, which are closed, have left nothing.
func (w *world) nothingLeft() {
	// A session that was cut off when it was closed ends with its timeout.
	clean := func() (wrong string) {
		w.Fake.Reap()
		if n := len(w.Fake.Sessions()); n > 1 { // the operator's
			return fmt.Sprintf("%d sessions", n-1)
		}
		if n := w.Fake.Watches(); n > 0 {
			return fmt.Sprintf("%d watches", n)
		}
		for line := range strings.Lines(w.Fake.Tree()) {
			first := "/" + strings.FieldsFunc(line, func(r rune) bool { return r == '/' || r == ' ' })[0]
			if !slices.Contains(lasting, first) || strings.Contains(line, "ephemeral") {
				return "znode " + line
			}
		}
		return ""
	}
	if !w.eventually(func() bool { return clean() == "" }) {
		w.violate("left", "%s\n%s", clean(), w.Fake.Tree())
	}
}

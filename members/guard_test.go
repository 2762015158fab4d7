package members_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// guards returns the znodes that guards check, by path.
func (w *place) guards() []string {
	var all []string
	for line := range strings.Lines(w.Tree()) {
		if path := strings.Fields(line)[0]; strings.HasPrefix(path, dir+"-guard/") && strings.Contains(path, "/holder-") {
			all = append(all, path)
		}
	}
	return all
}

// passes makes a write under h's guard.
func (w *place) passes(h *coord.Hold) error {
	_, err := w.Op().Multi(harness.Guard(h), &zk.SetDataRequest{Path: "/", Version: -1})
	return err
}

// refuses fails the test if h's guard lets anything pass.
func (w *place) refuses(h *coord.Hold) {
	w.Helper()
	if err := w.passes(h); !errors.Is(err, zk.ErrNoNode) {
		w.Errorf("a guarded write: %v, want %v", err, zk.ErrNoNode)
	}
}

// releasing begins to release h, a hold of c, and has what c asks for arrive only when
// heal is called.
func (w *place) releasing(c *coord.Client, h *coord.Hold) (heal func(), released <-chan error) {
	heal = w.Fake.Stall(c, coordtest.ToServer)
	back := make(chan error, 1)
	go func() { back <- h.Release(bg) }()
	synctest.Wait()
	return heal, back
}

// count counts from now on what c asks for, heartbeats and renewals excepted.
func (w *place) count(c *coord.Client) (asked func() []string) {
	synctest.Wait() // until what was asked before has passed the link
	var ops []string
	w.Fake.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
		if f.Dir == coordtest.ToServer && f.N > 0 && f.Op != "sync" && f.Op != "check" {
			ops = append(ops, f.Op)
		}
		return coordtest.Pass
	})
	return func() []string {
		synctest.Wait()
		defer func() { ops = nil }()
		return ops
	}
}

// A guard costs no request where its directory is there, and two where it is not: one
// that fails, and one that makes it. That holds for the thousandth as for the first,
// and joining lists no directory. Leaving is one request.
func TestGuardCosts(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(long)
		w.Must(w.join(c, "first", "").Release(bg)) // so that the group's directories are there
		asked := w.count(c)
		wants := func(want ...string) {
			w.Helper()
			if got := asked(); !slices.Equal(got, want) {
				w.Errorf("asked for %q, want %q", got, want)
			}
		}
		for n := range 1000 {
			h := w.join(c, id(n), "")
			wants("multi", "createContainer", "multi", "getData")
			if n%100 == 0 {
				w.Must(h.Release(bg))
				wants("multi")
				w.join(c, id(n), "")
				wants("multi", "getData")
			}
		}
	})
}

// A listing of the group's directory shows no guard, and a member that is kept has
// none.
func TestGuardIsNoMember(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		r := w.watch(c, nil)
		h := w.join(c, "joined", "1")
		m := w.keep(c, "kept", "2")
		w.sees(r, "joined=1 kept=2")
		names, _, err := w.Op().Children(dir)
		slices.Sort(names)
		if w.Must(err); !slices.Equal(names, []string{"joined", "kept"}) {
			w.Errorf("in the directory: %q", names)
		}
		if got := w.guards(); len(got) != 1 || got[0] != harness.Guard(h).Path {
			w.Errorf("guards: %q, want %q", got, harness.Guard(h).Path)
		}
		w.Must(m.Leave(bg))
		w.Must(h.Release(bg))
		if got := w.guards(); len(got) > 0 {
			w.Errorf("left: %q", got)
		}
	})
}

// An operator may delete what is a member's in any way. Its guard then lets nothing
// pass once another has joined, or the guard's own znode is gone; and leaving removes
// what is left, and nothing of another's.
func TestOperatorDeletes(t *testing.T) {
	bubble(t, func(w *place) {
		c, other := w.client(term), w.client(term)

		h := w.join(c, "self", "")
		w.Must(w.Op().Delete(harness.Guard(h).Path, -1))
		w.refuses(h)
		time.Sleep(time.Minute)
		w.Must(h.Err()) // it is a member as before
		w.Must(h.Release(bg))

		h = w.join(c, "self", "")
		w.Must(w.Op().Delete(harness.Guard(h).Path, -1))
		w.Fake.Reap() // the directory, too
		w.refuses(h)
		w.Must(h.Release(bg))
		if got := w.truth(); got != "" {
			w.Errorf("left: %s", got)
		}

		h = w.join(c, "self", "")
		synctest.Wait() // it follows its znode
		asked := w.count(c)
		w.Must(w.Op().Delete(dir+"/self", -1))
		w.Wait("end", h.Done())
		w.WantsOp(h.Err(), "lost", dir+"/self", coord.ErrDeleted)
		w.refuses(h)
		if got := asked(); !slices.Equal(got, []string{"delete"}) {
			w.Errorf("a member that knows that it is out asks for %q", got)
		}

		h = w.join(c, "self", "")
		heal, released := w.releasing(c, h)
		w.Must(w.Op().Delete(dir+"/self", -1))
		w.Must(w.Op().Delete(harness.Guard(h).Path, -1))
		next := w.join(other, "self", "next")
		heal()
		w.Must(<-released)
		w.Must(w.passes(next))
		w.Must(next.Err())
		w.Must(next.Release(bg))

		h = w.join(c, "self", "")
		_, err := w.Op().Set(dir+"/self", []byte("operator"), -1)
		w.Must(err)
		w.Must(h.Release(bg))
		if got := fmt.Sprint(w.truth(), w.guards()); got != "[]" {
			w.Errorf("left: %s", got)
		}
	})
}

// A release that is under way while an operator hands the ID on, at whatever moment of
// the next one's joining it arrives, takes nothing from the next one, whether that has
// joined or is kept. (R14, R78)
func TestLateLeaving(t *testing.T) {
	for n := range 12 {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprint(n, kept), func(t *testing.T) {
				bubble(t, func(w *place) {
					c, other := w.client(long), w.client(long)
					h := w.join(c, "self", "")
					guard := harness.Guard(h)
					heal, released := w.releasing(c, h)
					w.Must(w.Op().Delete(dir+"/self", -1))
					frames := 0
					w.Fake.LinkOf(other).OnFrame(func(f coordtest.Frame) coordtest.Action {
						if f.N > 0 {
							if frames++; frames == n+1 {
								heal()
								synctest.Wait()
							}
						}
						return coordtest.Pass
					})
					g := members.New(other, dir)
					var leave func(context.Context) error
					if kept {
						m := g.Keep(bg, members.Member{ID: "self", Data: []byte("next")})
						w.in(m)
						leave = m.Leave
					} else {
						next := g.Join(bg, members.Member{ID: "self", Data: []byte("next")})
						w.Must(next.Wait())
						w.Must(w.passes(next))
						defer func() { w.open("loss", next.Lost()) }()
						leave = next.Release
					}
					if _, err := w.Op().Multi(guard); !errors.Is(err, zk.ErrNoNode) {
						w.Errorf("the former guard: %v", err)
					}
					heal()
					w.Must(<-released)
					time.Sleep(time.Second) // of the bubble
					if got := w.truth(); got != "self=next" {
						w.Errorf("there is %q", got)
					}
					w.Must(leave(bg))
					if got := fmt.Sprint(w.truth(), w.guards()); got != "[]" {
						w.Errorf("left: %s", got)
					}
				})
			})
		}
	}
}

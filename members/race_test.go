package members_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// R14: a SetData that is under way when its member leaves, at whatever moment that
// hits the request, never reaches the next member of the same ID: nothing is asked
// for on behalf of a member after its znode was removed.
func TestSetDataEndsWithItsMember(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		g := members.New(c, dir)
		removed := make(map[string]bool)
		w.Fake.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
			switch {
			case f.Dir == coordtest.ToServer && f.Op == "delete":
				removed[f.Path] = true
			case f.Dir == coordtest.ToServer && f.Op == "setData" && removed[f.Path]:
				w.Errorf("%s is told something after it has left", f.Path)
			}
			return coordtest.Pass
		})
		for n := range harness.Times(400, 2000) {
			m := g.Keep(bg, members.Member{ID: id(n)})
			w.in(m)
			// That what follows has to wake up first, and to wait for others, is what
			// makes requests be late.
			time.Sleep(time.Millisecond)
			for range 4 {
				go func() {
					for range 5 {
						runtime.Gosched()
					}
				}()
			}
			updated := make(chan error, 1)
			go func() { updated <- m.SetData(bg, []byte("late")) }()
			for range n % 12 {
				runtime.Gosched()
			}
			w.Must(m.Leave(bg))
			if err := <-updated; err != nil {
				w.WantsOp(err, "setdata", dir+"/"+id(n), coord.ErrReleased)
			}
		}
		time.Sleep(time.Millisecond) // of the bubble: whatever is under way arrives
		w.Fake.LinkOf(c).OnFrame(nil)
	})
}

// R19, R52: a holder is told of the deletion of its znode even if the connection
// breaks directly behind the answer from which it is to be learned.
func TestDeletedAsTheLinkBreaks(t *testing.T) {
	bubble(t, func(w *place) {
		c := w.client(term)
		g := members.New(c, dir)
		line := w.Fake.LinkOf(c)
		for n := range 200 {
			id := fmt.Sprint("self", n)
			path := dir + "/" + id
			asked := false
			line.OnFrame(func(f coordtest.Frame) coordtest.Action {
				switch {
				case f.Path != path || f.Op != "getData":
				case f.Dir == coordtest.ToServer && !asked:
					asked = true
					w.Must(w.Op().Delete(path, -1))
				case f.Dir == coordtest.ToClient:
					return coordtest.PassAndHangUp
				}
				return coordtest.Pass
			})
			h := g.Join(bg, members.Member{ID: id})
			w.Wait("end", h.Done())
			if err := h.Err(); !errors.Is(err, coord.ErrDeleted) || !asked {
				w.Fatalf("round %d: ended with %v, asked for its znode: %v", n, err, asked)
			}
		}
		line.OnFrame(nil)
	})
}

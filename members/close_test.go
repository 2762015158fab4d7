package members_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/members"
)

// R36: a client that is closed ends all that was begun with it, whatever stage it
// is at, with ErrClosed, and whatever is begun after. The bubble checks that no
// goroutine is left.
func TestCloseEndsAll(t *testing.T) {
	for stage := range 60 {
		t.Run(fmt.Sprint(stage), func(t *testing.T) {
			bubble(t, func(w *place) {
				for n := range 20 {
					w.create(dir+"/"+id(n), "", 1, world)
				}
				c := w.client(term)
				g := members.New(c, dir)
				var holds []*coord.Hold
				var kept []*members.Membership
				var views []*event.Stream[members.View]
				var presences []*event.Stream[members.Presence]
				begin := func(i int) {
					me := members.Member{ID: fmt.Sprint("self", i)}
					holds = append(holds, g.Join(bg, me))
					me.ID = fmt.Sprint("kept", i)
					kept = append(kept, g.Keep(bg, me))
					me.ID = id(i) // somebody else's
					kept = append(kept, g.Keep(bg, me))
					views = append(views, g.Watch(bg))
					presences = append(presences, g.Follow(bg, id(i)))
				}
				awaited := make(chan error, 1)
				go func() {
					_, err := g.Await(bg, "nobody")
					awaited <- err
				}()
				begin(0)
				for range stage * stage {
					runtime.Gosched()
				}
				begin(1)
				w.Must(c.Close())
				begin(2)
				for i, h := range holds {
					w.Wait("done", h.Done())
					op := "join"
					select {
					case <-h.Lost(): // it was held
						op = "lost"
					default:
					}
					w.WantsOp(h.Err(), op, fmt.Sprint(dir, "/self", i), coord.ErrClosed)
				}
				for _, m := range kept {
					w.Wait("done", m.Done())
					if !errors.Is(m.Err(), coord.ErrClosed) {
						w.Errorf("Keep ended with %v", m.Err())
					}
					w.Must(m.Leave(bg))
					if err := m.SetData(bg, nil); !errors.Is(err, coord.ErrClosed) {
						w.Errorf("SetData: %v", err)
					}
				}
				for _, s := range views {
					w.Wait("end", s.Done())
					w.WantsOp(s.Err(), "watch", dir, coord.ErrClosed)
				}
				for i, s := range presences {
					w.Wait("end", s.Done())
					w.WantsOp(s.Err(), "follow", dir+"/"+id(i), coord.ErrClosed)
				}
				w.WantsOp(<-awaited, "await", dir+"/nobody", coord.ErrClosed)
			})
		})
	}
}

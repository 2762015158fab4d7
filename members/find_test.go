package members_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

// Find says that there is no such member when the ensemble does, and not when ctx
// has ended because something else was not there. (R61.)
func TestFindGivenUp(t *testing.T) {
	bubble(t, func(w *place) {
		w.join(w.Operator().Client, "a", "1")
		c := w.client(term)
		g := members.New(c, dir)
		m, ok, err := g.Find(bg, "a")
		if w.Must(err); !ok || string(m.Data) != "1" {
			t.Errorf("found %+v, %v", m, ok)
		}
		if _, ok, err = g.Find(bg, "b"); ok || err != nil {
			t.Errorf("found what is not there: %v, %v", ok, err)
		}
		cause := fmt.Errorf("sibling: %w", zk.ErrNoNode)
		ctx, cancel := context.WithCancelCause(bg)
		w.Fake.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "getData" && f.Dir == coordtest.ToServer {
				cancel(cause)
				return coordtest.Drop
			}
			return coordtest.Pass
		})
		for range 2 { // while an answer is due, and with a ctx that is over
			_, ok, err = g.Find(ctx, "a")
			w.WantsOp(err, "find", dir+"/a", cause)
			if ok {
				t.Error("found")
			}
		}
	})
}

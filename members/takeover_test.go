package members_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

// R30: what one's own former session has left behind is replaced by a znode of
// the new one, with the new data, in one transaction: no watcher on a good link
// ever sees the member missing, and the new znode does not go with the old
// session.
func TestTakeoverOfOnesOwn(t *testing.T) {
	for _, crowd := range []int{0, 1, 200} { // others in the directory, for which it rests
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("kept: %v, %d others", kept, crowd), func(t *testing.T) {
				bubble(t, func(w *place) {
					c, good := w.client(term), w.client(long)
					for n := range crowd {
						w.create(dir+"/"+id(n), "", 1, world)
					}
					var m *members.Membership
					if kept {
						m = w.keep(c, "self", "1")
					} else {
						w.join(c, "self", "1")
					}
					missing := 0
					r := w.watch(good, func(v members.View) {
						if _, there := v.Member("self"); !there {
							missing++
						}
					})
					w.sees(r, w.truth())
					old := c.Kit().Session().ID()
					heal := w.Fake.Stall(c, coordtest.Both)
					w.expired(c, old)
					heal()
					if kept {
						w.out(m, coord.ErrExpired)
						go m.SetData(bg, []byte("2"))
						w.in(m)
					} else {
						w.join(c, "self", "2")
					}
					time.Sleep(time.Millisecond) // of the bubble, before the server knows
					if now := w.owner("self"); now == old || now != c.Kit().Session().ID() {
						w.Errorf("owned by %v; formerly %v, now %v", now, old, c.Kit().Session().ID())
					}
					time.Sleep(2 * term)
					if now := w.owner("self"); now != c.Kit().Session().ID() {
						w.Errorf("gone with the former session: owned by %v", now)
					}
					w.sees(r, w.truth())
					if missing > 0 {
						w.Errorf("seen missing in %d views", missing)
					}
				})
			})
		}
	}
}

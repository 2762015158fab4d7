package members_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// A history knows which members were there when.
type history struct {
	w  *place
	mu sync.Mutex
	at []moment
}

type moment struct {
	when time.Time
	ids  map[string]bool
}

// look notes which members are there now.
func (h *history) look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := moment{time.Now(), make(map[string]bool)}
	for line := range strings.Lines(h.w.Tree()) {
		if name, ok := strings.CutPrefix(line, dir+"/"); ok {
			now.ids[strings.Fields(name)[0]] = true
		}
	}
	h.at = append(h.at, now)
}

// was reports whether id was there at a moment since.
func (h *history) was(id string, since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.at) - 1; i >= 0; i-- {
		if h.at[i].ids[id] {
			return true
		}
		if h.at[i].when.Before(since) { // and what that one showed was still so then
			return false
		}
	}
	return false
}

// listen has each frame of c's link be a moment: whatever is created has been there
// when its maker is told.
func (h *history) listen(c *coord.Client) {
	h.w.Fake.LinkOf(c).OnFrame(func(f coordtest.Frame) coordtest.Action {
		if f.N > 0 && f.Dir == coordtest.ToClient {
			h.look()
		}
		return coordtest.Pass
	})
}

// check returns a check that no View lists a member that was not there at any moment
// since the View before, or shortly before that.
func (h *history) check(who string) func(members.View) {
	last := time.Now()
	return func(v members.View) {
		h.look()
		if v.Suspended {
			return
		}
		for _, m := range v.Members {
			if !h.was(m.ID, last.Add(-2*time.Millisecond)) {
				h.w.Errorf("%s: %s is listed and was not there since the view before: %s\n%s", who, m.ID, say(v), h.w.Tree())
			}
		}
		last = time.Now()
	}
}

// A view never lists a member whose znode is not there, oneself included, whatever
// clients, sessions, connections and operators do; and when all has come to rest
// every view is the truth. (R24, R27, R30, R31, R52, R57.)
func TestAtRandom(t *testing.T) {
	seeds := harness.Times(20, 200)
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(w *place) {
				r := rand.New(rand.NewPCG(1, uint64(seed)))
				h := &history{w: w}
				h.listen(w.Operator().Client)
				good := w.client(long)
				h.listen(good)
				bad := w.client(term)
				h.listen(bad)
				records := []*record{w.watch(good, h.check("good")), w.watch(bad, h.check("bad"))}
				clients := []*coord.Client{bad}
				for range 3 {
					c := w.client(term)
					h.listen(c)
					clients = append(clients, c)
					records = append(records, w.watch(c, h.check("member")))
				}
				type handle struct {
					leave  func(context.Context) error
					update func(context.Context, []byte) error
				}
				held := make(map[string]handle)
				var wg sync.WaitGroup
				now, cancel := context.WithCancel(bg)
				cancel()
				for step := range 120 {
					n := r.IntN(len(clients))
					c := clients[n]
					g := members.New(c, dir)
					id := fmt.Sprint("m", r.IntN(4))
					key := fmt.Sprint(n, id)
					data := fmt.Append(nil, step)
					switch r.IntN(13) {
					case 0, 1:
						if _, ok := held[key]; !ok {
							hold := g.Join(bg, members.Member{ID: id, Data: data})
							held[key] = handle{leave: hold.Release}
						}
					case 2, 3:
						if _, ok := held[key]; !ok {
							m := g.Keep(bg, members.Member{ID: id, Data: data})
							held[key] = handle{m.Leave, m.SetData}
						}
					case 4, 5, 6:
						if x, ok := held[key]; ok {
							_ = x.leave(now) // the end comes all the same
							delete(held, key)
						}
					case 7, 8:
						if x := held[key]; x.update != nil {
							wg.Go(func() { _ = x.update(now, data) })
						}
					case 9:
						w.Fake.Expire(c.Kit().Session().ID())
					case 10:
						heal := w.Fake.Stall
						if r.IntN(2) == 0 {
							heal = func(c *coord.Client, _ coordtest.Direction) func() { return w.Fake.Cut(c) }
						}
						time.AfterFunc(time.Duration(r.Int64N(int64(2*term))), heal(c, coordtest.Both))
					case 11:
						_ = w.Op().Delete(dir+"/"+id, -1)
					case 12:
						if all := w.guards(); len(all) > 0 {
							_ = w.Op().Delete(all[r.IntN(len(all))], -1)
						}
					}
					switch r.IntN(5) {
					case 0: // at once
					case 1, 2, 3:
						time.Sleep(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
					case 4:
						time.Sleep(time.Duration(r.Int64N(int64(term))))
					}
				}
				time.Sleep(5 * term)
				wg.Wait()
				synctest.Wait()
				for _, rec := range records {
					w.sees(rec, w.truth())
				}
				for key, x := range held {
					if err := x.leave(briefly()); err != nil {
						w.Errorf("%s: %v", key, err)
					}
				}
				if got := fmt.Sprint(w.truth(), w.guards()); got != "[]" {
					w.Errorf("left: %s", got)
				}
				for _, rec := range records {
					w.sees(rec, "")
				}
			})
		})
	}
}

package subtree_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/subtree"
)

// queue follows the children of path, of which only the first may change. A state is
// as those of watch are; of a node whose data may not be read it has "!" and whether
// its Stat is known.
func (w *world) queue(path string) *record {
	r := &record{}
	r.Stream = subtree.Watch(w.Context(), w.c, path, subtree.Recipe[string]{
		Op:   "watch",
		Stat: true,
		Skip: func(name string) bool { return name == "none" },
		Changing: func(names []string) map[string]bool {
			names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "none" })
			if len(names) == 0 {
				return nil
			}
			return map[string]bool{names[0]: true}
		},
		Fold: func(nodes []*subtree.Node) (string, bool) {
			var all []string
			for _, n := range nodes {
				text := n.Name + "=" + string(n.Data)
				if n.Err != nil {
					text = fmt.Sprint(n.Name, "!", n.Exists && n.Czxid > 0)
				}
				all = append(all, text)
			}
			return strings.Join(all, " "), true
		},
		Suspend: func(last string) string { return strings.TrimSuffix(last, "?") + "?" },
	})
	return r
}

// What cannot change is read once, and costs nothing afterwards: no request when its
// data are set, and none after a reconnect. What may change is followed from the moment
// at which it may.
func TestChanging(t *testing.T) {
	bubble(t, func(w *world) {
		const n = 100
		w.Create("/t", "")
		w.Create("/t/none", "")
		want := make([]string, n)
		for i := range n {
			w.Create(fmt.Sprintf("/t/n%02d", i), "0")
			want[i] = fmt.Sprintf("n%02d=0", i)
		}
		count := w.tally()
		r := w.queue("/t")
		w.sees(r, strings.Join(want, " "))
		if count["getData"] != n || count["getChildren2"] != 1 || len(count) != n+3 {
			t.Errorf("at first %v", count)
		}

		clear(count)
		w.Set("/t/n00", "1")
		w.Set("/t/n01", "1")
		want[0] = "n00=1"
		w.sees(r, strings.Join(want, " "))
		if count["getData"] != 1 || count["getData /t/n00"] != 1 {
			t.Errorf("two are set: %v", count)
		}

		for _, anew := range []bool{false, true} {
			clear(count)
			if anew {
				w.Expire(w.client)
			} else {
				w.line.Reset()
			}
			w.sees(r, strings.Join(want, " "))
			if asked := count["getData"] + count["exists"]; asked != 1 || count["getChildren2"] != 1 {
				t.Errorf("after a reconnect, in another session: %v: %v", anew, count)
			}
		}

		clear(count)
		w.Delete("/t/n00")
		want = want[1:]
		want[0] = "n01=1" // may change now, and is read
		w.sees(r, strings.Join(want, " "))
		// If the news of the deletion comes before the directory's, it is looked for once.
		if count["getData"] > 1+count["getData /t/n00"] || count["getData /t/n00"] > 1 || count["getData /t/n01"] != 1 || count["getChildren2"] != 1 {
			t.Errorf("the first has gone: %v", count)
		}
		for i := 1; i < n; i++ {
			w.Delete(fmt.Sprintf("/t/n%02d", i))
		}
		w.sees(r, "")
		if got := w.Watches(); got != 1 {
			t.Errorf("%d watches are left", got)
		}
	})
}

// Whatever comes and goes, and of connections and of sessions too: when all has come to
// rest, what is seen is what there is.
func TestChangingAtRandom(t *testing.T) { eachWay(t, testChangingAtRandom) }

func testChangingAtRandom(t *testing.T, _ int) {
	for seed := range uint64(harness.Times(6, 20)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(w *world) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				w.Create("/t", "")
				r := w.queue("/t")
				var there []string
				for i := range 300 {
					switch rnd.IntN(12) {
					case 0, 1, 2, 3, 4:
						name := fmt.Sprintf("n%04d", i)
						w.Create("/t/"+name, name)
						there = append(there, name)
					case 5, 6, 7, 8:
						if len(there) > 0 {
							k := rnd.IntN(len(there)) * rnd.IntN(2) // the first as often as all others
							w.Delete("/t/" + there[k])
							there = slices.Delete(there, k, k+1)
						}
					case 9:
						if len(there) > 0 {
							w.Set("/t/"+there[0], fmt.Sprint(i))
						}
					case 10:
						if rnd.IntN(5) == 0 {
							w.line.Reset()
						} else if rnd.IntN(10) == 0 {
							w.Expire(w.client)
						}
					case 11:
						if rnd.IntN(4) == 0 {
							w.sees(r, w.truth("/t", false))
						}
					}
				}
				w.sees(r, w.truth("/t", false))
			})
		})
	}
}

// Of what may not be read there is the Stat, whatever becomes of the question for it.
// A question in vain, because the node has gone or the stream has ended, holds up
// nothing.
func TestStatOfWhatMayNotBeRead(t *testing.T) {
	secret := func(w *world, name string) {
		w.Helper()
		_, err := w.other.Create("/t/"+name, []byte("x"), 0, zk.WorldACL(zk.PermAll&^zk.PermRead))
		w.Must(err)
	}
	for _, x := range []struct {
		name string
		meet func(w *world) coordtest.Action // what the question meets
		want string
	}{
		{"nothing", func(*world) coordtest.Action { return coordtest.Pass }, "a!true b=2"},
		{"a hang-up", func(*world) coordtest.Action { return coordtest.HangUp }, "a!true b=2"},
		{"an expiry", func(w *world) coordtest.Action { w.Fake.Expire(w.c.Kit().Session().ID()); return coordtest.Pass }, "a!true b=2"},
		{"the deletion", func(w *world) coordtest.Action { _ = w.other.Delete("/t/a", -1); return coordtest.Pass }, "b=2"},
		{"the end", func(w *world) coordtest.Action { w.line.Stall(coordtest.Both); return coordtest.Pass }, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.Create("/t", "")
				secret(w, "a")
				w.Create("/t/b", "2")
				met := false
				w.line.OnFrame(func(f coordtest.Frame) coordtest.Action {
					if !met && f.Op == "exists" && f.Dir == coordtest.ToServer {
						met = true
						return x.meet(w)
					}
					return coordtest.Pass
				})
				r := w.queue("/t")
				if x.want == "" {
					w.Rest()
					w.Must(w.c.Close())
					w.Wait("end", r.Done())
				} else {
					w.sees(r, x.want)
					w.Must(w.other.Delete("/t/b", -1))
					w.sees(r, strings.TrimSpace(strings.TrimSuffix(x.want, "b=2")))
				}
				if !met {
					t.Error("nobody has asked")
				}
			})
		})
	}
}

// The Stat of what may not be read is the one that was asked for last, also if an
// earlier answer is taken late, and tells of a znode that was deleted and created again
// in the meantime.
func TestStatIsThatOfTheLastQuestion(t *testing.T) {
	for range 10 { // which of two cases that are ready is taken first is random
		bubble(t, func(w *world) {
			const second = time.Second // how long the follower is busy with each state
			closed := &zk.CreateRequest{Path: "/t/x", Acl: zk.WorldACL(zk.PermAll &^ zk.PermRead)}
			w.Create("/t", "")
			w.Create("/t/y", "")
			w.Create("/t/z", "")
			_, err := w.other.Multi(closed)
			w.Must(err)
			s := subtree.Watch(w.Context(), w.c, "/t", subtree.Recipe[int64]{
				Op:   "watch",
				Stat: true,
				Fold: func(nodes []*subtree.Node) (czxid int64, news bool) {
					time.Sleep(second)
					for _, n := range nodes {
						if n.Name == "x" {
							czxid = n.Czxid
						}
					}
					return czxid, true
				},
				Suspend: func(last int64) int64 { return last },
			})
			time.Sleep(10 * second)
			w.Delete("/t/z") // the listing has x read again
			time.Sleep(second / 2)
			w.Set("/t/y", "1") // so that the follower is busy when the answer for x comes
			time.Sleep(second)
			_, err = w.other.Multi(&zk.DeleteRequest{Path: "/t/x", Version: -1}, closed)
			w.Must(err)
			time.Sleep(10 * second)
			_, stat, err := w.other.Exists("/t/x")
			w.Must(err)
			if got, _ := s.Latest(); got != stat.Czxid {
				t.Errorf("the Stat is that of %#x, and the znode is %#x", got, stat.Czxid)
			}
		})
	}
}

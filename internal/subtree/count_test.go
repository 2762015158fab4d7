package subtree_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A tally counts what a line carries, by operation and path.
type tally map[string]int

func (w *world) tally() tally {
	t := make(tally)
	w.line.OnFrame(func(f coordtest.Frame) coordtest.Action {
		if f.Dir == coordtest.ToServer && f.N > 0 {
			t[f.Op]++
			t[f.Op+" "+f.Path]++
		} else if f.Op == "event" {
			t["events"]++
		}
		return coordtest.Pass
	})
	return t
}

// What a watcher asks for does not grow with how many come at a time: a burst of
// 1,000 costs few listings, each newcomer is read once, and a reconnect in the same
// session repeats no reading of data that have not changed. When all are gone no
// watch of theirs is left.
func TestBurst(t *testing.T) { eachWay(t, testBurst) }

func testBurst(t *testing.T, more int) {
	for _, pause := range []time.Duration{0, 10 * time.Microsecond, time.Millisecond} { // between two creations
		t.Run(fmt.Sprint(pause), func(t *testing.T) {
			bubble(t, func(w *world) {
				const n = 1000
				w.Create("/t", "")
				r := w.watch("/t", false, nil)
				w.sees(r, "")
				count := w.tally()
				var all []string
				for i := range n {
					name := fmt.Sprintf("m%04d", i)
					_, err := w.other.Create("/t/"+name, []byte("1"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
					w.Must(err)
					all = append(all, name+"=1")
					time.Sleep(pause)
				}
				w.sees(r, strings.Join(all, " "))
				lists, reads := count["getChildren2"], count["getData"]
				t.Logf("%d listings, %d states", lists, len(r.said))
				// A listing of k children is followed by a rest of 50 µs for each.
				if most := 20 + int(pause*n/(5*time.Millisecond)); lists > most || reads != n {
					t.Errorf("%d listings, at most %d expected, and %d readings of data, for %d", lists, most, reads, n)
				}
				if got := w.Watches(); got != n+1+more {
					t.Errorf("%d watches", got)
				}

				clear(count)
				w.line.Reset()
				w.sees(r, strings.Join(all, " "))
				if count["getData"] > 0 || count["exists"] != n+more || count["getChildren2"] > 1 {
					t.Errorf("after a reconnect %d readings of data, %d questions whether they have changed, %d listings",
						count["getData"], count["exists"], count["getChildren2"])
				}
				clear(count)
				_, err := w.other.Set("/t/m0500", []byte("2"), -1)
				w.Must(err)
				all[500] = "m0500=2"
				w.sees(r, strings.Join(all, " "))
				if count["getData"] != 1 || count["getChildren2"] > 0 {
					t.Errorf("one change has led to %v", count)
				}

				clear(count)
				for i := range n {
					w.Delete(fmt.Sprintf("/t/m%04d", i))
					time.Sleep(pause)
				}
				w.sees(r, "")
				if got := w.Watches(); got != 1+more {
					t.Errorf("%d watches are left", got)
				}
				t.Logf("leaving: %d listings, %d readings, %d events", count["getChildren2"], count["getData"], count["events"])
				if most := 20 + int(pause*n/(5*time.Millisecond)); count["getChildren2"] > most || count["getData"] > n {
					t.Errorf("leaving has led to %d listings, at most %d expected, and %d readings", count["getChildren2"], most, count["getData"])
				}
			})
		})
	}
}

// R12, R53: those who come and go leave no watch behind, neither on the server nor
// after the follower has ended.
func TestWatchesDoNotPileUp(t *testing.T) { eachWay(t, testWatchesDoNotPileUp) }

func testWatchesDoNotPileUp(t *testing.T, more int) {
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprintf("whole: %v", whole), func(t *testing.T) {
			bubble(t, func(w *world) {
				w.Create("/t", "")
				r := w.watch("/t", whole, nil)
				w.sees(r, "")
				for i := range 1000 {
					path := fmt.Sprint("/t/", i)
					w.Create(path, "")
					time.Sleep(time.Duration(i%4) * time.Millisecond)
					if i%100 == 50 {
						w.line.Reset()
					}
					w.Delete(path)
				}
				w.sees(r, "")
				if got := w.Watches(); got != 1+more {
					t.Errorf("%d watches are left, want the one of the directory", got)
				}
				w.Rest()
			})
		})
	}
}

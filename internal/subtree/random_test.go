package subtree_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/harness"
)

// truth says what is below path, as a record does, by what is on the server; of all
// levels, if whole is set.
func (w *world) truth(path string, whole bool) string {
	w.Helper()
	var all []string
	var look func(at string)
	look = func(at string) {
		names, _, err := w.other.Children(at)
		w.Must(err)
		slices.Sort(names)
		for _, name := range names {
			name = at + "/" + name
			data, _, err := w.other.Get(name)
			w.Must(err)
			all = append(all, strings.TrimPrefix(name, path+"/")+"="+string(data))
			if whole {
				look(name)
			}
		}
	}
	look(path)
	return strings.Join(all, " ")
}

// R27, R31, R52: whatever becomes of the znodes, of names that are used again at
// once, of connections and of sessions, and at whatever stage of a read it happens:
// when all has come to rest, what is seen is what there is.
func TestAtRandom(t *testing.T) { eachWay(t, testAtRandom) }

func testAtRandom(t *testing.T, _ int) {
	for seed := range uint64(harness.Times(8, 30)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(w *world) {
				r := rand.New(rand.NewPCG(seed, 1))
				names := 2 + r.IntN(3) // the fewer, the more often one is used again
				acl := zk.WorldACL(zk.PermAll)
				w.Create("/t", "")
				flat, whole := w.watch("/t", false, nil), w.watch("/t", true, nil)
				for round := range 25 {
					for range 1 + r.IntN(12) {
						node := fmt.Sprint("/t/", r.IntN(names))
						below := fmt.Sprint(node, "/", r.IntN(2))
						data := fmt.Append(nil, round)
						// What is not possible is left out: whether it is does not matter.
						switch r.IntN(12) {
						case 0, 1, 2:
							_, _ = w.other.Create(node, data, r.Int32N(2), acl)
						case 3, 4:
							_ = w.other.Delete(node, -1)
						case 5:
							_, _ = w.other.Multi(&zk.DeleteRequest{Path: node, Version: -1},
								&zk.CreateRequest{Path: node, Data: data, Acl: acl, Flags: zk.FlagEphemeral})
						case 6:
							_, _ = w.other.Set(node, data, -1)
						case 7, 8:
							_, _ = w.other.Create(below, data, r.Int32N(2), acl)
						case 9:
							_ = w.other.Delete(below, -1)
						case 10:
							if r.IntN(4) == 0 {
								w.line.Reset()
							}
						case 11:
							if r.IntN(50) == 0 {
								w.Expire(w.client)
							}
							for range r.IntN(100) {
								runtime.Gosched()
							}
						}
					}
					if r.IntN(3) == 0 {
						continue // and not at rest
					}
					w.sees(flat, w.truth("/t", false))
					w.sees(whole, w.truth("/t", true))
					if t.Failed() {
						t.Fatalf("in round %d of seed %d", round, seed)
					}
				}
			})
		})
	}
}

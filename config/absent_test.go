package config_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A publication is what one call of Publish asks for: each key of values gets the
// number gen.
type publication struct {
	gen    int
	values []string
	remove []string
}

func (p publication) by(c *coord.Client) error {
	values := make(map[string]int)
	for _, key := range p.values {
		values[key] = p.gen
	}
	return published(bg, config.NewTree(c, "/app", numbers), values, p.remove...)
}

// on returns what p makes of state.
func (p publication) on(state map[string]int) map[string]int {
	after := maps.Clone(state)
	for _, key := range p.remove {
		delete(after, key)
	}
	for _, key := range p.values {
		after[key] = p.gen
	}
	return after
}

// keysOf returns the numbers of k, or what is wrong with it.
func keysOf(k config.Values[int]) (map[string]int, error) {
	state := make(map[string]int)
	for key, u := range k.Keys {
		if u.Err != nil {
			return nil, u.Err
		}
		state[key] = u.Value
	}
	return state, nil
}

// encounters are two publications of which the second is carried out when the first
// has looked, and not changed anything yet.
var encounters = []struct {
	name         string
	first        []string // what is there before, with the number 1
	ours, theirs publication
}{
	{"a key is created that is to be removed",
		[]string{"a"}, publication{2, []string{"a"}, []string{"opt"}}, publication{3, []string{"a", "opt"}, nil}},
	{"and its directory with it",
		[]string{"a"}, publication{2, []string{"a"}, []string{"d/opt"}}, publication{3, []string{"a", "d/opt"}, nil}},
	{"and two of them",
		[]string{"a"}, publication{2, []string{"a"}, []string{"d/e/opt"}}, publication{3, []string{"a", "d/e/opt"}, nil}},
	{"only its directory is created",
		[]string{"a"}, publication{2, []string{"a"}, []string{"d/opt"}}, publication{3, []string{"d/x"}, nil}},
	{"two of one directory that was missing",
		nil, publication{2, []string{"a"}, []string{"d/opt", "d/x"}}, publication{3, []string{"a", "d/opt", "d/x"}, nil}},
	{"the directory is that of a key to be stored",
		nil, publication{2, []string{"d/x"}, []string{"d/opt"}}, publication{3, []string{"d/x", "d/opt"}, nil}},
	{"the key is below one that is to be removed, and there",
		[]string{"a", "k"}, publication{2, []string{"a"}, []string{"k", "k/opt"}}, publication{3, []string{"a", "k", "k/opt"}, nil}},
	{"the key is below one that is to be removed, and not there",
		[]string{"a"}, publication{2, []string{"a"}, []string{"k", "k/opt"}}, publication{3, []string{"a", "k", "k/opt"}, nil}},
	{"the key is below one that is to be stored, and there",
		[]string{"a", "k"}, publication{2, []string{"a", "k"}, []string{"k/opt"}}, publication{3, []string{"a", "k", "k/opt"}, nil}},
	{"the key is below one that is to be stored, and not there",
		[]string{"a"}, publication{2, []string{"a", "k"}, []string{"k/opt"}}, publication{3, []string{"a", "k", "k/opt"}, nil}},
	{"nothing is to be stored",
		[]string{"a"}, publication{2, nil, []string{"x", "y"}}, publication{3, []string{"x", "y"}, nil}},
	{"nothing is to be stored, and one is there",
		[]string{"a", "y"}, publication{2, nil, []string{"x", "y"}}, publication{3, []string{"x"}, []string{"y"}}},
	{"what one creates the other removes, and the other way round",
		[]string{"a", "x"}, publication{2, []string{"a", "y"}, []string{"x"}}, publication{3, []string{"a", "x"}, []string{"y"}}},
}

// The absence of a key that is to be removed is a condition of the transaction: of
// two publications each takes effect as a whole, one after the other, and no Tree
// sees anything else, though each finds another state than the other leaves.
func TestPublicationsMeet(t *testing.T) {
	for _, x := range encounters {
		for _, order := range []string{"as named", "the other way round"} {
			t.Run(x.name+", "+order, func(t *testing.T) {
				bubble(t, func(w *world) {
					ours, theirs := x.ours, x.theirs
					if order != "as named" {
						ours, theirs = theirs, ours
					}
					other := w.Dial(nil, nil).Client
					before := publication{1, x.first, nil}
					w.Must(before.by(other))
					state := before.on(map[string]int{})
					allowed := []map[string]int{state, theirs.on(state), ours.on(theirs.on(state))}
					reader := w.Dial(nil, nil).Client
					tree := config.NewTree(reader, "/app", numbers).Watch(bg)
					var read sync.WaitGroup
					read.Go(func() {
						for k := range tree.All() {
							state, err := keysOf(k)
							if err != nil || !slices.ContainsFunc(allowed, func(a map[string]int) bool { return maps.Equal(a, state) }) {
								t.Errorf("the tree shows %v, %v; there were %v", state, err, allowed)
							}
						}
					})
					met := false
					w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
						if !met && f.Op == "multi" && f.Dir == coordtest.ToServer {
							met = true
							w.Must(theirs.by(other))
						}
						return coordtest.Pass
					})
					w.Must(ours.by(w.c))
					time.Sleep(time.Second) // of the bubble: the tree has read
					last, _ := tree.Latest()
					if got, _ := keysOf(last); !met || !maps.Equal(got, allowed[2]) {
						t.Errorf("met: %v; in the end the tree shows %v, want %v\n%s", met, got, allowed[2], w.Tree())
					}
					w.Must(reader.Close())
					read.Wait()
				})
			})
		}
	}
}

// Two keys that were never both absent are not taken for absent because each was
// not there when it was looked at.
func TestAbsentAtOneMoment(t *testing.T) {
	bubble(t, func(w *world) {
		w.Create("/app", "")
		w.Create("/app/x", "1")
		w.Create("/app/y", "1")
		swap := func(remove, add string) {
			_, err := w.op.Multi(&zk.DeleteRequest{Path: remove, Version: -1},
				&zk.CreateRequest{Path: add, Data: []byte("1"), Acl: zk.WorldACL(zk.PermAll)})
			w.Must(err)
		}
		var looked []string
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "exists" && len(looked) < 2 {
				looked = append(looked, f.Path)
				if len(looked) == 1 {
					w.Delete(f.Path)
				} else {
					time.Sleep(time.Millisecond) // of the bubble: the first is answered
					swap(f.Path, looked[0])
				}
			}
			return coordtest.Pass
		})
		w.Must(w.numbers(nil, "x", "y"))
		if w.Get("/app/x") != "nothing" || w.Get("/app/y") != "nothing" || len(looked) < 2 {
			t.Errorf("after looking at %q stored\n%s", looked, w.Tree())
		}
	})
}

// The absence costs no request if what it is looked for in is known to be there, one
// for each directory otherwise, and a write that is refused if nothing else is to be
// changed: a quorum has agreed.
// Nothing is left behind.
func TestAbsenceCosts(t *testing.T) {
	bubble(t, func(w *world) {
		w.Must(w.numbers(map[string]int{"a": 1}))
		var requests []string
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.N > 0 {
				requests = append(requests, f.Op)
			}
			return coordtest.Pass
		})
		for _, x := range []struct {
			values map[string]int
			remove []string
			want   string
		}{
			{map[string]int{"a": 2}, []string{"none"}, "sync exists exists multi"},
			{map[string]int{"a": 2}, []string{"d/x", "d/y", "d/e/z"}, "sync exists exists exists exists exists exists multi"},
			{nil, []string{"none"}, "sync exists multi"},
			{nil, []string{"d/e/none"}, "sync exists multi"},
			{nil, []string{"d/x", "d/y"}, "sync exists exists exists exists multi"}, // all of d is missing, which is one look
			{nil, []string{"none", "d/x"}, "sync exists exists exists exists multi"},
		} {
			before := w.Tree()
			requests = nil
			w.Must(w.numbers(x.values, x.remove...))
			if got := strings.Join(requests, " "); got != x.want {
				t.Errorf("%v and to remove %q: requests %s, want %s", x.values, x.remove, got, x.want)
			}
			if after := w.Tree(); after != strings.Replace(before, `/a "1"`, `/a "2"`, 1) {
				t.Errorf("%v and to remove %q: before\n%safter\n%s", x.values, x.remove, before, after)
			}
		}
	})
}

// What is created and deleted to find a key absent is nobody's news.
func TestAbsenceIsNoNews(t *testing.T) {
	bubble(t, func(w *world) {
		w.Must(w.numbers(map[string]int{"a": 1}))
		reader := w.Dial(nil, nil).Client
		key, tree := config.New(reader, "/app/x", numbers).Watch(bg), config.NewTree(reader, "/app", numbers).Watch(bg)
		w.expect(key, "none missing")
		time.Sleep(time.Second) // of the bubble: the tree has read
		<-tree.Updates()
		for range 3 {
			w.Must(w.numbers(nil, "x", "x/below", "y"))
			time.Sleep(time.Second)
			w.quiet(key)
			select {
			case k := <-tree.Updates():
				t.Errorf("the tree shows %v anew", k.Keys)
			default:
			}
		}
		if _, stat, err := w.op.Get("/app"); err != nil || stat.Cversion != 1+3*4 {
			t.Errorf("created and deleted: %+v, %v", stat, err)
		}
	})
}

// Where the ensemble lets nobody create, what is not there can be no condition: that
// is refused, and the key named; alone it may be removed all the same.
func TestAbsenceRefused(t *testing.T) {
	bubble(t, func(w *world) {
		w.Must(w.numbers(map[string]int{"a": 1}))
		_, err := w.op.SetACL("/app", zk.WorldACL(zk.PermAll&^zk.PermCreate), -1)
		w.Must(err)
		err = w.numbers(map[string]int{"a": 2}, "none")
		w.WantsOp(err, "publish", "/app", zk.ErrNoAuth)
		if !strings.Contains(fmt.Sprint(err), `"none"`) || w.Get("/app/a") != "1" {
			t.Errorf("%v; stored %s", err, w.Get("/app/a"))
		}
		w.Must(w.numbers(nil, "none"))
		w.Must(w.numbers(map[string]int{"a": 2}))
	})
}

// A transaction that is only to find keys absent changes nothing. So it is repeated
// when its answer is lost, and its outcome is never unknown, with or without witnesses.
func TestAbsenceAnswerLost(t *testing.T) {
	for _, witnesses := range []bool{true, false} {
		for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			bubble(t, func(w *world) {
				w.Must(w.numbers(map[string]int{"a": 1}))
				if !witnesses {
					_, err := w.op.SetACL("/", zk.WorldACL(zk.PermRead), -1)
					w.Must(err)
				}
				w.lose(dir)
				w.Must(w.numbers(nil, "x", "y"))
				w.Must(w.numbers(map[string]int{"a": 2}, "x", "y"))
				if w.Get("/app/a") != "2" || strings.Contains(w.Tree(), "/app/x") {
					t.Errorf("stored\n%s", w.Tree())
				}
			})
		}
	}
}

// A chroot that does not exist stands for all that is absent below it.
func TestAbsenceBelowMissingChroot(t *testing.T) {
	for _, chroot := range []string{"/top", "/deep/down"} {
		for _, values := range []map[string]int{nil, {"a": 1}, {"x/a": 1}} {
			bubble(t, func(w *world) {
				c := w.Dial(nil, &coord.Options{Chroot: chroot}).Client
				w.Must(published(bg, config.NewTree(c, "/", numbers), values, "x/y", "z"))
				tree, err := config.NewTree(c, "/", numbers).Read(bg)
				state, bad := keysOf(tree)
				if w.Must(errors.Join(err, bad)); !maps.Equal(state, values) {
					t.Errorf("below %s: %v, want %v", chroot, state, values)
				}
				if len(values) == 0 && strings.Contains(w.Tree(), chroot) {
					t.Errorf("made\n%s", w.Tree())
				}
			})
		}
	}
}

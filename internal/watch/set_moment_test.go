package watch_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/watch"
)

// A generation is written to several znodes in one transaction. Whatever a Set
// calls consistent shows one generation in all of them: while all is well, and while
// connections and sessions break at any frame.
func TestSetIsOfOneMoment(t *testing.T) {
	breaks := map[string]func(w *world, f coordtest.Frame) coordtest.Action{
		"nothing": func(*world, coordtest.Frame) coordtest.Action { return coordtest.Pass },
		"resets":  func(*world, coordtest.Frame) coordtest.Action { return coordtest.HangUp },
		"last":    func(*world, coordtest.Frame) coordtest.Action { return coordtest.PassAndHangUp },
		"expiry": func(w *world, _ coordtest.Frame) coordtest.Action {
			w.Expire(w.client)
			return coordtest.Pass
		},
	}
	const nodes = 5
	writes := harness.Times(60, 120)
	for _, name := range slices.Sorted(maps.Keys(breaks)) {
		for every := range 7 {
			if name == "nothing" && every > 0 {
				break // it would be the same again
			}
			t.Run(fmt.Sprintf("%s, frame %d of 7", name, every), func(t *testing.T) {
				bubble(t, func(w *world) {
					w.Create("/t", "0")
					var ops []any
					b := watch.SetOf(w.c)
					defer b.Close()
					b.Add("/t", event.Children, false)
					for i := range nodes {
						path := fmt.Sprint("/t/", i)
						w.Create(path, "0")
						ops = append(ops, &zk.SetDataRequest{Path: path, Version: -1})
						b.Add(path, event.Data, false)
					}
					// One comes and goes with the generations, odd and even.
					b.Add("/t/odd", event.Presence, false)
					n, broken, next := 0, 0, time.Now()
					w.line.OnFrame(func(f coordtest.Frame) coordtest.Action {
						n++
						if f.Op == "connect" && f.Dir == coordtest.ToClient { // it must get somewhere
							next = time.Now().Add(time.Duration(n%30) * time.Millisecond)
						}
						if f.N > 0 && n%7 == every && !time.Now().Before(next) {
							next = time.Now().Add(time.Duration(5+n%30) * time.Millisecond)
							broken++
							return breaks[name](w, f)
						}
						return coordtest.Pass
					})
					done := make(chan struct{})
					go func() {
						defer close(done)
						for gen := 1; gen <= writes; gen++ {
							for _, op := range ops {
								op.(*zk.SetDataRequest).Data = fmt.Append(nil, gen)
							}
							all := append(slices.Clone(ops), any(&zk.DeleteRequest{Path: "/t/odd", Version: -1}))
							if gen%2 == 1 {
								all[nodes] = &zk.CreateRequest{Path: "/t/odd", Acl: zk.WorldACL(zk.PermAll)}
							}
							if gen%3 == 0 {
								slices.Reverse(all)
							}
							if _, err := w.Op().Multi(all...); err != nil {
								w.Errorf("generation %d: %v", gen, err)
								return
							}
							if gen%4 > 0 {
								time.Sleep(time.Duration(gen%4) * time.Millisecond)
							}
						}
					}()
					now := make(map[string]string)
					last := ""
					over := time.After(time.Hour)
					for last != fmt.Sprint(writes) {
						select {
						case <-b.Ready():
						case <-over:
							w.Fatalf("stays at %q: %v", last, now)
						}
						news, ok := b.Take()
						for _, n := range news {
							w.Must(n.Err)
							now[fmt.Sprint(n.Kind, n.Path)] = say(n.Kind, n.Snapshot)
						}
						if !ok {
							continue
						}
						last = now["data/t/0"]
						odd, list := "nothing", "[0 1 2 3 4]"
						if len(last) > 0 && strings.Contains("13579", last[len(last)-1:]) {
							odd, list = "there", "[0 1 2 3 4 odd]"
						}
						for i := range nodes {
							if v := now[fmt.Sprint("data/t/", i)]; v != last {
								w.Fatalf("consistent: %v", now)
							}
						}
						if now["presence/t/odd"] != odd || now["children/t"] != list {
							w.Fatalf("consistent: %v", now)
						}
					}
					<-done
					w.line.OnFrame(nil)
					if broken == 0 {
						t.Error("nothing has been broken")
					}
				})
			})
		}
	}
}

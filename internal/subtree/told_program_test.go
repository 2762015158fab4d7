package subtree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
)

// A program that arms watches of its own, on the connection that it shares with the
// library, is told by each of them, whichever comes first.
func TestProgramsOwnWatches(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprint("the program first: ", first), func(t *testing.T) {
			bubble(t, func(w *world) {
				all := strings.Join(w.fill("/t", large), " ")
				conn := w.c.Conn()
				arm := func() (fired []<-chan zk.Event) {
					_, _, data, err := conn.GetW("/t")
					w.Must(err)
					_, _, children, err := conn.ChildrenW("/t")
					w.Must(err)
					return []<-chan zk.Event{data, children}
				}
				var fired []<-chan zk.Event
				if first {
					fired = arm()
				}
				r := w.watch("/t", false, nil)
				w.sees(r, all)
				if first {
					w.Create("/t/x", "")
					w.sees(r, all+" x=")
				} else {
					w.Create("/t/x", "") // which shows that it pays
					w.sees(r, all+" x=")
					fired = arm()
				}
				for i := range 3 {
					w.Set("/t", "")
					w.Create("/t/y", "")
					w.Rest()
					for _, ch := range fired {
						select {
						case <-ch:
						default:
							t.Errorf("the program was not told in turn %d", i)
						}
					}
					w.sees(r, all+" x= y=")
					fired = arm()
					w.line.Reset()
					w.Rest()
					w.Delete("/t/y")
					w.sees(r, all+" x=")
					fired[1] = arm()[1]
				}
			})
		})
	}
}

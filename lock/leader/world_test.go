package leader_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock/leader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(locktest.Main(m)) }

const T = locktest.T

var bg = context.Background()

// campaigner is a candidate for one term, as the scenarios of locks use it. A try is a
// candidate that a Mutex beside it makes.
var campaigner = locktest.Subject{
	Name: "candidates",
	Acquire: func(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
		return leader.New(c, dir).Campaign(ctx, []byte("value"))
	},
	Try:     try,
	Verb:    "campaign",
	Share:   6, // what is the queue's part is tried with every fault for the Mutex
	Follows: 1, // its announcement
	Left:    func(w *locktest.World) bool { return w.Exists(w.Dir + "-leader") },
}

// A place is a world with one election, at Dir.
type place struct{ *harness.World }

// election returns the election as c sees it.
func (w place) election(c *harness.Client, opts ...leader.Option) *leader.Election {
	return leader.New(c.Client, w.Dir, opts...)
}

// leads waits until c leads, by a term of its own with the value.
func (w place) leads(c *harness.Client, value string) *coord.Hold {
	w.Helper()
	h := w.election(c).Campaign(bg, []byte(value))
	w.Wait("term", h.Acquired())
	w.Must(h.Err())
	return h
}

// An onlooker is an observer, and all that it has been shown since it was asked last.
type onlooker struct {
	*event.Stream[leader.View]
	w    place
	last string
}

// watch has c observe the election until the test is over.
func (w place) watch(c *harness.Client) *onlooker {
	return &onlooker{Stream: w.election(c).Watch(w.Context()), w: w}
}

// say puts a View in words: the value, or the label of a leader that has none, and the token.
func say(v leader.View) string {
	text := "nobody"
	if v.Has {
		value := string(v.Value)
		if v.Value == nil {
			value = "label " + v.Leader.Label
		}
		text = fmt.Sprintf("%s by %#x", value, int64(v.Leader.Token))
	}
	if v.Suspended {
		text += "?"
	}
	return text
}

// by is what a View of the term h says.
func by(value string, h *coord.Hold) string { return fmt.Sprintf("%s by %#x", value, int64(h.Token())) }

// sees waits until the newest View says want.
func (o *onlooker) sees(want string) {
	o.w.Helper()
	o.w.Eventually("the observer sees "+want, func() bool {
		v, any := o.Latest()
		o.last = say(v)
		return any && o.last == want
	})
}

// inBoth runs what is in table in both worlds. As after every scenario, nothing may be left.
func inBoth(t *testing.T, table []scenario) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		for _, sc := range table {
			t.Run(sc.name, func(t *testing.T) {
				in(t, func(hw *harness.World) {
					w := place{hw}
					sc.run(w)
					if !w.Failed() {
						w.nothingLeft()
					}
				})
			})
		}
	})
}

// A scenario says in its name what is guaranteed.
type scenario struct {
	name string
	run  func(w place)
}

// nothingLeft waits until nothing of the election is left but the directory.
func (w place) nothingLeft() {
	w.Helper()
	w.Eventually("directory empty", func() bool { return len(w.Children(w.Dir)) == 0 })
	w.Eventually("no announcement", func() bool { return !w.Exists(w.Dir + "-leader") })
}

// first returns the name of the first candidate.
func (w place) first() string {
	w.Helper()
	all, err := leader.New(w.Operator().Client, w.Dir).Candidates(bg)
	w.Must(err)
	if len(all) == 0 {
		w.Fatal("no candidate")
	}
	return all[0].Node
}

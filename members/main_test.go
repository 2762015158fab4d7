package members_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(harness.Main(m)) }

// unsynced has servers not wait for the disk, which other programs can keep busy
// for longer than a session lasts. What they have written outlives them all the
// same.
var unsynced = []string{"-Dzookeeper.forceSync=no"}

// An onlooker receives the Views of a group, and notes how each differs from the
// one before.
type onlooker struct {
	mu    sync.Mutex
	first members.View
	last  members.View
	at    time.Time // when last came; zero if there was none yet
	steps []step
	more  chan struct{} // closed and replaced when there is a View
}

// A step is what a View has brought: "+id", "-id", "~id" with other data, or
// "?" and "!" when it began and ceased to be suspended.
type step struct {
	what string
	at   time.Time
}

// lookOn has an onlooker watch dir until the test ends.
func lookOn(t *testing.T, c *coord.Client, dir string) *onlooker {
	o := &onlooker{more: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	views := members.New(c, dir).Watch(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for v := range views.All() {
			o.see(v)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return o
}

func (o *onlooker) see(v members.View) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	note := func(what string) { o.steps = append(o.steps, step{what, now}) }
	joined, left, changed := v.Diff(o.last)
	for sign, all := range map[string][]members.Member{"+": joined, "-": left, "~": changed} {
		for _, m := range all {
			note(sign + m.ID)
		}
	}
	switch {
	case v.Suspended && !o.last.Suspended:
		note("?")
	case !v.Suspended && o.last.Suspended:
		note("!")
	}
	if o.at.IsZero() {
		o.first = v
	}
	o.last, o.at = v, now
	close(o.more)
	o.more = make(chan struct{})
}

// until waits until the newest View is ok, and returns when that came.
func (o *onlooker) until(t *testing.T, what string, ok func(members.View) bool) time.Time {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		o.mu.Lock()
		v, at, more := o.last, o.at, o.more
		o.mu.Unlock()
		if !at.IsZero() && ok(v) {
			return at
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("after two minutes no view with %s, but %d members, suspended: %v, %v", what, len(v.Members), v.Suspended, v.Err)
		}
	}
}

// history returns the signs of all steps of a member, in order.
func (o *onlooker) history(id string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var signs strings.Builder
	for _, s := range o.steps {
		if s.what[1:] == id {
			signs.WriteByte(s.what[0])
		}
	}
	return signs.String()
}

// count returns how many steps with this sign there were.
func (o *onlooker) count(sign byte) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.steps {
		if s.what[0] == sign {
			n++
		}
	}
	return n
}

// exactly returns whether the members of a View that is not suspended are these.
func exactly(ids []string) func(members.View) bool {
	ids = slices.Sorted(slices.Values(ids))
	return func(v members.View) bool {
		return !v.Suspended && v.Err == nil &&
			slices.EqualFunc(v.Members, ids, func(m members.Member, id string) bool { return m.ID == id })
	}
}

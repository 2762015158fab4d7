package locktest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
)

// complaints keeps what is found wrong.
type complaints struct {
	testing.TB
	text []string
}

func (c *complaints) Errorf(format string, args ...any) {
	c.text = append(c.text, fmt.Sprintf(format, args...))
}

// An exclusion finds two holders at once, a token that does not increase, and a reader
// beside a writer; and it finds nothing where there is nothing.
func TestExclusionFinds(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		c := hw.Client(T)
		hold := func(name string) *coord.Hold {
			h := lock.New(c.Client, hw.Dir+name).Acquire(bg)
			hw.Must(h.Wait())
			return h
		}
		early, late, later := hold("/a"), hold("/b"), hold("/c")
		release := func(h *coord.Hold) { hw.Must(h.Release(context.Background())) }
		reader := map[*coord.Hold]bool{early: true, late: true}
		for _, tt := range []struct {
			name   string
			shared bool
			do     func(x *exclusion)
			want   string
		}{
			{"two", false, func(x *exclusion) { x.enter(early, 1); x.enter(late, 2) }, "has not been told"},
			{"two, of whom one is ended by hand", false, func(x *exclusion) { x.enter(early, 1); x.end(1); x.enter(late, 2) }, ""},
			{"one after the other", false, func(x *exclusion) { x.enter(early, 1); x.leave(early); x.enter(late, 2) }, ""},
			{"tokens", false, func(x *exclusion) { x.enter(late, 1); x.leave(late); x.enter(early, 2) }, "token"},
			{"readers", true, func(x *exclusion) { x.enter(late, 1); x.enter(early, 2) }, ""},
			{"a writer beside readers", true, func(x *exclusion) { x.enter(early, 1); x.enter(later, 2) }, "has not been told"},
			{"a writer before readers", true, func(x *exclusion) { x.enter(later, 1); x.leave(later); x.enter(early, 2) }, "token"},
			{"two, of whom one has been told", false, func(x *exclusion) { x.enter(early, 1); release(early); x.enter(late, 2) }, ""},
		} {
			tb := &complaints{TB: t}
			w := *hw
			w.TB = tb
			x := &exclusion{w: In(&w, Subject{}), inside: make(map[*coord.Hold]coord.SessionID)}
			if tt.shared {
				x.w.Reads = func(h *coord.Hold) bool { return reader[h] }
			}
			tt.do(x)
			got := strings.Join(tb.text, "; ")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%s: found %q, want %q", tt.name, got, tt.want)
			}
		}
		release(late)
		release(later)
	})
}

package semaphore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock/semaphore"
)

func TestView(t *testing.T) {
	t.Parallel() // it mostly waits
	inBoth(t, views)
}

// text returns v in words.
func text(v semaphore.View) string {
	labels := func(all []coord.Contender) string {
		var words []string
		for _, c := range all {
			word := c.Label
			if c.Revoked {
				word += "(revoked)"
			}
			words = append(words, word)
		}
		return strings.Join(words, ",")
	}
	return fmt.Sprintf("%s|%s|%d", labels(v.Holders), labels(v.Waiters), v.Permits)
}

// views is what it says of who holds and who waits.
var views = []scenario{
	{"holders and waiters are listed and followed, in their order, with their labels and the number", func(w place) {
		a, b, reader := w.Client(T), w.Client(T), w.Client(T)
		ctx, cancel := context.WithCancel(bg)
		s := semaphore.New(reader.Client, w.Dir, 99)
		watch := s.Watch(ctx)
		shows := func(want string) {
			w.Helper()
			w.Eventually(want, func() bool {
				v, any := watch.Latest()
				return any && text(v) == want && !v.Suspended
			})
			v, err := s.Contenders(bg)
			w.Must(err)
			if got := text(v); got != strings.ReplaceAll(want, "ada(", "(") {
				w.Errorf("contenders %q, want %q", got, want)
			}
		}
		shows("||0")
		acquire := func(c *harness.Client, label string) *coord.Hold {
			return semaphore.New(c.Client, w.Dir, 2, semaphore.Label(label)).Acquire(bg)
		}
		ada := w.grant(acquire(a, "ada"))
		shows("ada||2")
		ben := w.grant(acquire(b, "ben"))
		shows("ada,ben||2")
		cid := acquire(a, "cid")
		shows("ada,ben|cid|2")
		dot := acquire(b, "dot")
		shows("ada,ben|cid,dot|2")
		v, _ := watch.Latest()
		if v.Holders[0].Token != ada.Token() || v.Holders[1].Session != b.Kit().Session().ID() {
			w.Errorf("holders %+v", v.Holders)
		}
		w.Must(ben.Release(bg))
		w.grant(cid)
		shows("ada,cid|dot|2")
		w.Set(w.Dir+"/leases/"+v.Holders[0].Node, "__REVOKE__")
		shows("ada(revoked),cid|dot|2")
		w.Wait("loss", ada.Lost())
		w.Must(ada.Release(bg))
		w.grant(dot)
		shows("cid,dot||2")
		w.Must(w.sem(a, 2).Resize(bg, 5))
		shows("cid,dot||5")
		w.Must(cid.Release(bg))
		w.Must(dot.Release(bg))
		shows("||5")
		cancel()
		w.Wait("end of the watch", watch.Done())
		w.Wants(watch.Err(), context.Canceled)
		w.Must(reader.Close()) // and with it the watches that the server has
	}},
	{"a view says that the connection is down, and ends up at the truth after a cut and in a new session", func(w place) {
		a, reader := w.Client(T), w.Client(T)
		watch := w.sem(reader, 1).Watch(bg)
		h := w.held(a, 1)
		sees := func(n int, suspended bool) {
			w.Helper()
			w.Eventually(fmt.Sprintf("%d holders, suspended: %t", n, suspended), func() bool {
				v, any := watch.Latest()
				return any && len(v.Holders) == n && v.Suspended == suspended
			})
		}
		sees(1, false)
		up := w.Down(reader)
		sees(1, true)
		w.Must(h.Release(bg))
		up()
		sees(0, false)
		over := reader.Expired()
		w.Expire(reader)
		w.Wait("expiry", over)
		h = w.held(a, 1)
		sees(1, false)
		w.Must(h.Release(bg))
		w.Must(reader.Close())
		w.Wants(watch.Err(), coord.ErrClosed)
		_, err := w.sem(reader, 1).Contenders(bg)
		w.WantsOp(err, "contenders", w.Dir, coord.ErrClosed)
	}},
}

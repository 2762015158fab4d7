package lock_test

import (
	"context"
	"slices"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/lock"
)

// watchings are what it says of them to those that follow it.
var watchings = []scenario{
	{"a contender that is revoked is listed as such, with its label as far as that is known (R39)", func(w place) {
		a, b, early, late := w.Client(T), w.Client(T), w.Client(T), w.Client(T)
		shows := func(watch *event.Stream[coord.Contention], want string) {
			w.Helper()
			w.Eventually(want, func() bool {
				q, _ := watch.Latest()
				return labels(q.Contenders) == want && !q.Suspended
			})
		}
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		watch := lock.New(early.Client, w.Dir).Watch(ctx)
		ha := w.labelled(a, "ada", 1)
		hb := w.labelled(b, "ben", 2)
		shows(watch, "ada ben")
		revoke := func() {
			w.Helper()
			_, err := w.Op().Set(w.Dir+"/"+w.Children()[0], []byte("__REVOKE__"), -1)
			w.Must(err)
		}
		revoke()
		shows(watch, "ada(revoked) ben")
		if got := labels(w.contenders(late)); got != "(revoked) ben" {
			w.Errorf("listed after the revocation: %q", got)
		}
		shows(lock.New(late.Client, w.Dir).Watch(ctx), "(revoked) ben")
		w.Wait("loss", ha.Lost()) // it may have held for too short a time to be told at once
		w.Wants(ha.Err(), coord.ErrRevoked)
		w.Must(ha.Release(bg))
		shows(watch, "ben")
		w.Grant(hb)
		revoke()
		shows(watch, "ben(revoked)")
		w.Must(hb.Release(bg))
		shows(watch, "")
		w.Must(early.Close()) // and with it the watches that the server has
		w.Must(late.Close())
	}},
	{"a closed client lists and watches nothing, and neither can be asked of a bad path (R47)", func(w place) {
		a, b := w.Client(T), w.Client(T)
		watch := lock.New(a.Client, w.Dir).Watch(bg)
		w.Eventually("first value", func() bool { _, any := watch.Latest(); return any })
		w.Must(a.Close())
		w.Wait("end of the watch", watch.Done())
		w.Wants(watch.Err(), coord.ErrClosed)
		_, err := lock.New(a.Client, w.Dir).Contenders(bg)
		w.Wants(err, coord.ErrClosed)
		late := lock.New(a.Client, w.Dir).Watch(bg)
		w.Wait("end of the watch", late.Done())
		w.Wants(late.Err(), coord.ErrClosed)

		bad := lock.New(b.Client, "/a//b")
		_, err = bad.Contenders(bg)
		w.Wants(err, coord.ErrInvalidPath)
		refused := bad.Watch(bg)
		w.Wait("end of the watch", refused.Done())
		w.Wants(refused.Err(), coord.ErrInvalidPath)
	}},
	{"a watch ends up at the truth after a cut and in a new session (R34)", func(w place) {
		a, b, c, reader := w.Client(T), w.Client(T), w.Client(T), w.Client(T)
		ctx, cancel := context.WithCancel(bg)
		watch := lock.New(reader.Client, w.Dir).Watch(ctx)
		shows := func(want ...string) {
			w.Helper()
			w.Eventually(strings.Join(want, " ")+" in the watch", func() bool {
				q, any := watch.Latest()
				return any && labels(q.Contenders) == strings.Join(want, " ") && !q.Suspended
			})
			q, _ := watch.Latest()
			all := q.Contenders
			nodes := w.Children()
			if !slices.EqualFunc(all, nodes, func(c coord.Contender, node string) bool { return c.Node == node }) {
				w.Errorf("watch shows %+v, children are %q", all, nodes)
			}
		}
		shows()
		ha := w.labelled(a, "a", 1)
		shows("a")
		up := w.Down(reader)
		hb := w.labelled(b, "b", 2)
		w.Must(ha.Release(bg))
		up()
		shows("b")
		over := reader.Expired()
		w.Expire(reader)
		w.Wait("expiry", over)
		hc := w.labelled(c, "c", 2)
		shows("b", "c")
		w.Grant(hb)
		w.Must(hb.Release(bg))
		shows("c")
		w.Must(hc.Release(bg))
		shows()
		cancel()
		w.Wait("end of the watch", watch.Done())
		w.Wants(watch.Err(), context.Canceled)
		w.Must(reader.Close()) // and with it the watch that the server has
	}},
}

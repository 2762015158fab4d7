package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock"
)

// What a Mutex says of its contenders.
func TestListing(t *testing.T) { inBoth(t, mutex, listings, nothingLeft) }

// labelled starts to acquire the lock for c under a label and waits until it is
// in line as the n-th child.
func (w place) labelled(c *locktest.Client, label string, n int) *coord.Hold {
	w.Helper()
	h := lock.New(c.Client, w.Dir, lock.Label(label)).Acquire(bg)
	w.Eventually(label+" in the queue", func() bool { return len(w.Children()) == n })
	return h
}

// contenders lists them as c sees them.
func (w place) contenders(c *locktest.Client) []coord.Contender {
	w.Helper()
	all, err := lock.New(c.Client, w.Dir).Contenders(bg)
	w.Must(err)
	return all
}

func labels(all []coord.Contender) string {
	var names []string
	for _, c := range all {
		names = append(names, c.Label)
	}
	return strings.Join(names, " ")
}

func revocations(all []coord.Contender) string {
	var names []string
	for _, c := range all {
		name := c.Label
		if c.Revoked {
			name += "(revoked)"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

var listings = []scenario{
	{"contenders are listed in order, with label, session, node, time and the token that they will hold by (R40)", func(w place) {
		reader := w.Client(T)
		began := time.Now().Truncate(time.Millisecond)
		names := []string{"first", "second", "third"}
		var clients []*locktest.Client
		var holds []*coord.Hold
		for i, name := range names {
			clients = append(clients, w.Client(T))
			holds = append(holds, w.labelled(clients[i], name, i+1))
		}
		w.Grant(holds[0])
		now := time.Now()
		all := w.contenders(reader)
		nodes := w.Children()
		if len(all) != len(names) {
			w.Fatalf("%d contenders: %+v", len(all), all)
		}
		for i, c := range all {
			if c.Label != names[i] || c.Node != nodes[i] || c.Session != clients[i].Kit().Session().ID() {
				w.Errorf("contender %d: %+v, want %s of session %v at %s", i, c, names[i], clients[i].Kit().Session().ID(), nodes[i])
			}
			if c.Since.Before(began) || c.Since.After(now) {
				w.Errorf("since %v, not in %v to %v", c.Since, began, now)
			}
			w.Grant(holds[i])
			if got := holds[i].Token(); c.Token != got {
				w.Errorf("%s is listed with token %d and holds by %d", c.Label, c.Token, got)
			}
			w.Must(holds[i].Release(bg))
			if got, want := labels(w.contenders(reader)), strings.Join(names[i+1:], " "); got != want {
				w.Errorf("left after %d releases: %s, want %s", i+1, got, want)
			}
		}
	}},
	{"children that are no contenders are left out, those of other clients are not", func(w place) {
		a := w.Client(T)
		ha := w.labelled(a, "ours", 1)
		var made []string
		put := func(name string, flags int32) {
			path, err := w.Op().Create(w.Dir+"/"+name, []byte("foreign"), flags, zk.WorldACL(zk.PermAll))
			w.Must(err)
			made = append(made, path)
		}
		for name := range strings.SplitSeq("config,_c_x,lock-,__lock__,x-lock-99999999999", ",") {
			put(name, 0)
		}
		put("_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-lock-", zk.FlagEphemeral|zk.FlagSequence)
		if got := labels(w.contenders(a)); got != "ours foreign" {
			w.Errorf("contenders: %q", got)
		}
		for _, path := range made {
			w.Must(w.Op().Delete(path, -1))
		}
		w.Must(ha.Release(bg))
	}},
	{"a lock that nobody ever wanted has no contenders, and asking makes no directory", func(w place) {
		if all := w.contenders(w.Client(T)); len(all) != 0 {
			w.Errorf("contenders: %+v", all)
		}
		if ok, _, err := w.Op().Exists(w.Dir); ok || err != nil {
			w.Errorf("directory exists: %v, %v", ok, err)
		}
	}},
	{"a contender that goes between the listing and the reading is left out (R27)", func(w place) {
		a, b, reader := w.Client(T), w.Client(T), w.Client(T)
		ha := w.labelled(a, "stays", 1)
		hb := w.labelled(b, "goes", 2)
		victim := w.Dir + "/" + w.Children()[1]
		deleted := make(chan error, 10)
		reader.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Dir == coordtest.ToServer && f.Op == "getData" && f.Path == victim {
				deleted <- w.Op().Delete(victim, -1)
			}
			return coordtest.Pass
		})
		if got := labels(w.contenders(reader)); got != "stays" {
			w.Errorf("contenders: %q", got)
		}
		select {
		case err := <-deleted:
			w.Must(err)
		default:
			w.Error("the reader did not read the one that goes")
		}
		w.Wants(w.Outcome(hb), coord.ErrDeleted)
		w.Must(ha.Release(bg))
	}},
	{"a contender that may not be read is listed without label", func(w place) {
		b := w.Client(T)
		w.Must(w.Held(b).Release(bg)) // makes a directory for everyone
		a := w.Dial(nil, &coord.Options{
			SessionTimeout: T,
			Auth:           []coord.Auth{{Scheme: "digest", Credential: []byte("user:secret")}},
			ACL:            []coord.ACL{coord.Auth{Scheme: "digest", Credential: []byte("user:secret")}.ACL(coord.PermAll)},
		})
		ha := w.labelled(a, "hidden", 1)
		w.Grant(ha)
		hb := w.labelled(b, "open", 2)
		all := w.contenders(b)
		if len(all) != 2 || all[0].Label != "" || all[1].Label != "open" {
			w.Fatalf("contenders: %+v", all)
		}
		if c := all[0]; c.Session != a.Kit().Session().ID() || c.Token != ha.Token() || c.Since.IsZero() {
			w.Errorf("hidden contender: %+v, want session %v, token %d", c, a.Kit().Session().ID(), ha.Token())
		}
		if got := labels(w.contenders(a)); got != "hidden open" {
			w.Errorf("contenders as the one with the key sees them: %q", got)
		}
		ctx, cancel := context.WithCancel(bg)
		watch := lock.New(b.Client, w.Dir).Watch(ctx)
		w.Eventually("the same in a watch", func() bool {
			q, _ := watch.Latest()
			return slices.Equal(q.Contenders, all)
		})
		cancel()
		w.Must(hb.Release(bg))
		w.Must(ha.Release(bg))
	}},
	{"a contender that may not be read is waited for", func(w place) {
		// A server with the fix of CVE-2024-23944 (3.8.4, 3.9.2, Debian's 3.8.0)
		// withholds the events of a znode from whoever may not read it.
		b := w.Client(T)
		w.Must(w.Held(b).Release(bg)) // makes a directory for everyone
		a := w.Dial(nil, &coord.Options{
			SessionTimeout: T,
			Auth:           []coord.Auth{{Scheme: "digest", Credential: []byte("user:secret")}},
			ACL:            []coord.ACL{coord.Auth{Scheme: "digest", Credential: []byte("user:secret")}.ACL(coord.PermAll)},
		})
		ha := w.Held(a)
		hb := w.Behind(b, 2)
		w.IsOpen("acquired", hb.Acquired())
		w.Must(ha.Release(bg))
		w.Grant(hb)
		w.Must(hb.Release(bg))
	}},
	{"a contender that is revoked is listed as such, with its label as far as that is known (R39)", func(w place) {
		a, b, early, late := w.Client(T), w.Client(T), w.Client(T), w.Client(T)
		shows := func(watch *event.Stream[coord.Contention], want string) {
			w.Helper()
			w.Eventually(want, func() bool {
				q, _ := watch.Latest()
				return revocations(q.Contenders) == want && !q.Suspended
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
		if got := revocations(w.contenders(late)); got != "(revoked) ben" {
			w.Errorf("listed after the revocation: %q", got)
		}
		shows(lock.New(late.Client, w.Dir).Watch(ctx), "(revoked) ben")
		w.Wants(w.Outcome(ha), coord.ErrRevoked)
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
	{"a listing ends when its ctx does, though the link is silent (R61)", func(w place) {
		a := w.Client(T)
		asked := make(chan func(), 1)
		a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "getChildren2" {
				asked <- a.Link.Stall(coordtest.Both)
			}
			return coordtest.Pass
		})
		cause := errors.New("in a hurry")
		ctx, cancel := context.WithCancelCause(bg)
		back := make(chan error, 1)
		go func() {
			_, err := lock.New(a.Client, w.Dir).Contenders(ctx)
			back <- err
		}()
		heal := <-asked
		a.Link.OnFrame(nil)
		defer heal()
		began := time.Now()
		cancel(cause)
		w.Wants(<-back, cause)
		if d := time.Since(began); d > w.Bound(100*time.Millisecond) {
			w.Errorf("took %v", d)
		}
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

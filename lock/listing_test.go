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
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock"
)

// What a Mutex says of its contenders.
func TestListing(t *testing.T) { inBoth(t, mutex, slices.Concat(listings, watchings), nothingLeft) }

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

// labels returns the labels of all, and who of them is revoked.
func labels(all []coord.Contender) string {
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

// hidden returns a client whose contenders nobody else may read.
func (w place) hidden() *locktest.Client {
	key := coord.Auth{Scheme: "digest", Credential: []byte("user:secret")}
	return w.Dial(nil, &coord.Options{SessionTimeout: T, Auth: []coord.Auth{key}, ACL: []coord.ACL{key.ACL(coord.PermAll)}})
}

// listings are what a Mutex says of its contenders when it is asked.
var listings = []scenario{
	{"contenders are listed in order, with label, session, node, time, the token that they will hold by, and which of them holds (R40)", func(w place) {
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
			if c.Holds != (i == 0) || c.Label != names[i] || c.Node != nodes[i] || c.Session != clients[i].Kit().Session().ID() {
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
		a := w.hidden()
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
		a := w.hidden()
		ha := w.Held(a)
		hb := w.Behind(b, 2)
		w.IsOpen("acquired", hb.Acquired())
		w.Must(ha.Release(bg))
		w.Grant(hb)
		w.Must(hb.Release(bg))
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
}

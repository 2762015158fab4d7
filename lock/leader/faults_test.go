package leader_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/locktest"
	"github.com/zkcoord/zkcoord/lock/leader"
)

// A candidate for a term meets every fault at every frame as a contender of a lock does, and
// while it publishes.
func TestFaults(t *testing.T) { locktest.Faults(t, campaigner, publishing...) }

var publishing = []locktest.Plot{
	{Name: "leads and changes its value", Run: func(w *locktest.World, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		w.Must(other.Release(bg))
		e := leader.New(c.Client, w.Dir)
		h := e.Campaign(bg, []byte("one"))
		if w.Outcome(h) == nil {
			for _, value := range []string{"two", "three"} {
				err := e.Publish(briefly(), h, []byte(value))
				got := shown(w.World)
				if err != nil || got != value {
					c.Rest(T) // so that an expiry just now has been heard of
					if h.Err() == nil {
						w.Errorf("leads, and published %q, %v; there is %q", value, err, got)
					}
				}
			}
			w.Must(h.Release(bg))
		}
		return []*coord.Hold{h}
	}},
	{Name: "leads, and an operator deletes its announcement", Run: func(w *locktest.World, c *locktest.Client, other *coord.Hold) []*coord.Hold {
		w.Must(other.Release(bg))
		h := leader.New(c.Client, w.Dir).Campaign(bg, []byte("one"))
		if w.Outcome(h) == nil {
			time.Sleep(time.Second) // of the bubble
			_ = w.World.Op().Delete(w.Dir+"-leader", -1)
			c.Rest(3 * T)
			if got := shown(w.World); h.Err() == nil && got != "one" {
				w.Errorf("leads, and there is %q", got)
			}
			w.Must(h.Release(bg))
		}
		return []*coord.Hold{h}
	}},
}

// shown returns the value in the announcement, as the operator sees it.
func shown(w *harness.World) string {
	w.Helper()
	v, err := leader.New(w.Operator().Client, w.Dir).Leader(bg)
	w.Must(err)
	if !v.Has {
		return "nobody"
	}
	return string(v.Value)
}

// briefly returns a ctx for what may wait for a link that is down.
func briefly() context.Context {
	ctx, cancel := context.WithTimeout(bg, 10*T)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// A candidacy and an observer meet every fault at every frame. The candidate leads in the
// end, with its newest value; both observers, the one that meets the fault and one on a good
// link, are shown the truth; and nothing is left when it has resigned.
func TestCandidacyFaults(t *testing.T) {
	var workloads []harness.Workload
	for _, p := range []struct {
		name  string
		share int
		run   func(w place, c *harness.Client) (value string, k *leader.Candidacy)
	}{
		{"keeps", 6, func(w place, c *harness.Client) (string, *leader.Candidacy) {
			k := w.election(c).Keep(bg, []byte("one"))
			_ = k.Publish(briefly(), []byte("two"))
			return "two", k
		}},
		{"keeps through an expiry", 8, func(w place, c *harness.Client) (string, *leader.Candidacy) {
			k := w.election(c).Keep(bg, []byte("one"))
			_ = k.Publish(briefly(), []byte("one"))
			w.Expire(c)
			return "one", k
		}},
		{"keeps, and an operator hands the lead on", 8, func(w place, c *harness.Client) (string, *leader.Candidacy) {
			k := w.election(c).Keep(bg, []byte("one"))
			_ = k.Publish(briefly(), []byte("one"))
			for _, name := range w.Children(w.Dir) {
				_ = w.Op().Delete(w.Dir+"/"+name, -1)
			}
			return "one", k
		}},
		{"observes, and others lead in turn", 5, func(w place, c *harness.Client) (string, *leader.Candidacy) {
			a, b := w.Client(harness.Long), w.Client(harness.Long)
			first := w.leads(a, "first")
			k := w.election(b).Keep(bg, []byte("second"))
			time.Sleep(time.Millisecond) // of the bubble
			w.Must(first.Release(bg))
			return "second", k
		}},
		{"observes one that does not announce itself", 8, func(w place, c *harness.Client) (string, *leader.Candidacy) {
			foreign := w.foreign("theirs")
			time.Sleep(3 * time.Second) // of the bubble: until it is seen
			k := w.election(w.Client(harness.Long)).Keep(bg, []byte("ours"))
			time.Sleep(time.Millisecond)
			w.Delete(foreign)
			return "ours", k
		}},
	} {
		workloads = append(workloads, harness.Workload{Name: p.name, Share: p.share, Run: func(hw *harness.World, connect func() *harness.Client) {
			w := place{hw}
			w.Must(w.leads(w.Operator(), "").Release(bg)) // so that the directory is there
			good := w.watch(w.Operator())
			c := connect()
			bad := w.watch(c)
			value, k := p.run(w, c)
			c.Rest(6 * T)
			s, _ := k.Latest()
			if !s.Leads || s.Suspended || s.Hold.Err() != nil {
				w.Fatalf("in the end %+v, %v\n%s", s, k.Err(), w.Tree())
			}
			for what, o := range map[string]*onlooker{"good": good, "bad": bad} {
				if v, any := o.Latest(); !any || say(v) != by(value, s.Hold) {
					w.Errorf("the observer on the %s link sees %s (any: %v, %v), want %s\n%s", what, say(v), any, o.Err(), by(value, s.Hold), w.Tree())
				}
			}
			if err := k.Resign(briefly()); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				w.Errorf("resign: %v", err)
			}
			w.Wait("end", k.Done())
			w.Wants(k.Err(), coord.ErrReleased)
			c.Exempt(func() {
				time.Sleep(3 * T) // sessions that were given up are over
				w.nothingLeft()
				for what, o := range map[string]*onlooker{"good": good, "bad": bad} {
					if v, _ := o.Latest(); say(v) != "nobody" {
						w.Errorf("the observer on the %s link sees %s", what, say(v))
					}
				}
			})
		}})
	}
	harness.Faults(t, workloads...)
}

// foreign has the operator lead by the znode of another client, whose path it returns.
func (w place) foreign(data string) string {
	w.Helper()
	path, err := w.Op().Create(w.Dir+"/_c_5b2a8c1e-93d4-4c75-8f1b-0a4de3a1c0f7-lock-", []byte(data), zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	w.Must(err)
	return path
}

package recipes_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A round is one grant, by one recipe.
type round struct {
	*harness.World
	recipe
	n    int
	path string
	a    *harness.Client // seeks
	b    *harness.Client // holds what a waits for
	ctx  context.Context // of the seeking
	stop context.CancelFunc

	begun []held
}

// begin begins to seek.
func (r *round) begin() held {
	h := r.seek(r.ctx, r.a.Client, r.path)
	r.begun = append(r.begun, h)
	return h
}

// take makes c hold something at the path.
func (r *round) take(c *harness.Client, seek seeker) held {
	r.Helper()
	h := seek(bg, c.Client, r.path)
	r.begun = append(r.begun, h)
	r.Wait("grant", h.Acquired())
	r.Must(h.Err())
	return h
}

// used makes sure that the directories are there.
func (r *round) used() {
	r.Helper()
	r.Must(r.take(r.b, r.seek).Release(bg))
}

// lose loses the first create that travels in direction d, with its connection.
func (r *round) lose(d coordtest.Direction) {
	r.first(func(f coordtest.Frame) bool { return f.Dir == d && f.Op == r.create },
		func() coordtest.Action { return coordtest.HangUp })
}

// first has do say what becomes of the first frame that is meant. There must be one.
func (r *round) first(meant func(coordtest.Frame) bool, do func() coordtest.Action) {
	var met atomic.Bool
	r.a.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
		if !met.Load() && meant(f) {
			met.Store(true)
			return do()
		}
		return coordtest.Pass
	})
	r.Cleanup(func() {
		if !met.Load() {
			r.Error("the frame that is meant has not been seen")
		}
	})
}

// A way is one in which something can be granted.
type way struct {
	name string
	fits func(r recipe) bool // nil: every recipe
	real int                 // rounds of the long form on a real server; zero: only in a bubble
	// run begins to seek, and does what it takes for the grant.
	run func(r *round) held
}

var ways = []way{
	{"what nobody ever had", nil, 30, func(r *round) held { return r.begin() }},
	{"what is free", nil, 30, func(r *round) held {
		r.used()
		return r.begin()
	}},
	{"what its holder releases", waits, 300, func(r *round) held {
		r.used()
		other := r.take(r.b, r.blocker)
		h := r.begin()
		pause := 100 * time.Microsecond // in which a real server has a listing half done
		if r.n%2 == 1 {
			pause = rand.N(2 * time.Millisecond)
		}
		time.Sleep(pause)
		r.Must(other.Release(bg))
		return h
	}},
	{"what its holder releases before the waiter has a watch", waits, 300, func(r *round) held {
		r.used()
		other := r.take(r.b, r.blocker)
		r.first(func(f coordtest.Frame) bool {
			followed := f.Path == other.node() || f.Path == r.path || f.Path == r.path+"/self" || f.Path == r.path+"/other"
			return f.Dir == coordtest.ToServer && followed && (f.Op == "getData" || f.Op == "exists")
		}, func() coordtest.Action {
			if err := other.Release(bg); err != nil {
				r.Error(err)
			}
			return coordtest.Pass
		})
		return r.begin()
	}},
	{"what its holder loses with the session", waits, 0, func(r *round) held {
		r.used()
		r.take(r.b, r.blocker)
		h := r.begin()
		r.Rest()
		r.Expire(r.b)
		return h
	}},
	{"what its holder releases while the waiter is cut off", waits, 0, func(r *round) held {
		r.used()
		other := r.take(r.b, r.blocker)
		h := r.begin()
		r.Rest()
		heal := r.a.Link.Cut()
		r.Must(other.Release(bg))
		heal()
		return h
	}},
	{"what others hold too", func(r recipe) bool { return r.beside != nil }, 300, func(r *round) held {
		r.take(r.b, r.beside)
		return r.begin()
	}},
	{"what is free, with the request for it lost", nil, 30, func(r *round) held {
		r.used()
		r.lose(coordtest.ToServer)
		return r.begin()
	}},
	{"what is free, with the answer lost", nil, 30, func(r *round) held {
		r.used()
		r.lose(coordtest.ToClient)
		return r.begin()
	}},
	{"what is free, with the first word of the own znode lost", nil, 0, func(r *round) held {
		r.used()
		r.a.Link.Reset() // or as many words as are waited for at once might be lost already
		r.Rest()
		_, err := r.a.Kit().Await(bg)
		r.Must(err)
		r.first(func(f coordtest.Frame) bool { return f.Dir == coordtest.ToClient && f.Op == "getData" },
			func() coordtest.Action { return coordtest.Drop })
		h := r.begin()
		if r.queued { // and so follows its znode only when it has held for a while
			r.Wait("grant", h.Acquired())
			time.Sleep(time.Second) // of the bubble
		}
		return h
	}},
	{"what is free, in a directory to which it may not write", func(r recipe) bool { return r.queued }, 300, func(r *round) held {
		r.used()
		_, err := r.Op().SetACL(r.path, zk.WorldACL(zk.PermAll&^zk.PermWrite), -1)
		r.Must(err)
		return r.begin()
	}},
	{"what its former session still has", func(r recipe) bool { return r.member }, 0, func(r *round) held {
		r.take(r.a, join)
		over := r.a.Expired()
		heal := r.a.Link.Stall(coordtest.Both)
		r.Wait("end of the session", over)
		heal()
		return r.begin()
	}},
}

func waits(r recipe) bool { return r.blocker != nil }

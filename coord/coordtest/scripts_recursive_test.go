package coordtest_test

import (
	"math"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// The modes of AddWatch, and the kinds of watches of RemoveWatches.
const (
	persistent = int32(0)
	recursive  = int32(1)

	childWatches = int32(1)
	dataWatches  = int32(2)
	anyWatches   = int32(3)
)

// scriptRecursive is about watches that stay, and that are told of all that is below.
func scriptRecursive(w *world) {
	act := w.connect("act", long)
	set := func(path string) {
		_, err := act.Set(path, []byte("x"), -1)
		must(w.t, err)
	}
	del := func(path string) { must(w.t, act.Delete(path, -1)) }
	add := func(path string) { must(w.t, act.create(path, nil, 0)) }
	changes := func(n string) { // of the node n, at several depths
		add(n + "/a")
		add(n + "/a/b")
		set(n + "/a/b")
		set(n + "/a")
		set(n)
		_, err := act.SetACL(n+"/a", open, -1)
		must(w.t, err)
		del(n + "/a/b")
		del(n + "/a")
	}
	session := func() *raw {
		r := w.raw()
		r.handshake(0, 10000, 0, make([]byte, 16))
		return r
	}
	arm := func(r *raw, path string, mode int32) { r.ask("addWatch", int32(1), jute.OpAddWatch, path, mode) }
	remove := func(r *raw, path string, kind int32) {
		r.ask("removeWatches", int32(2), jute.OpRemoveWatches, path, kind)
	}
	none := int32(0)
	for _, mode := range []int32{persistent, recursive} {
		w.printf("mode %d", mode)
		n := w.root + "/n"
		r := session()
		arm(r, n, mode)
		add(n)
		changes(n)
		changes(n)
		del(n)
		r.ask("after changes", int32(-2), jute.OpPing)
		add(n)
		add(w.root + "/nn") // is not below
		set(w.root + "/nn")
		del(w.root + "/nn")
		r.ask("again", int32(-2), jute.OpPing)
		for _, kind := range []int32{childWatches, dataWatches, anyWatches, 4, 5, 6} {
			w.printf("without those of kind %d", kind)
			arm(r, n, mode)
			r.ask("checkWatches", int32(2), jute.OpCheckWatches, n, kind)
			remove(r, n, kind)
			changes(n)
			r.ask("after removal", int32(-2), jute.OpPing)
			remove(r, n, anyWatches)
		}
		del(n)
	}
	w.printf("odd requests")
	r := session()
	arm(r, w.root, 2)
	r = session()
	arm(r, w.root, -1)
	r = session()
	arm(r, "", recursive)
	arm(r, "a", recursive)
	arm(r, w.root+"/", recursive)
	remove(r, "none", anyWatches)
	r.ask("no path", int32(1), jute.OpAddWatch)
	r = session()
	r.ask("no mode", int32(1), jute.OpAddWatch, w.root)

	w.printf("one-shot watches beside it")
	for _, before := range []bool{true, false} {
		for _, op := range []jute.Op{jute.OpGetData, jute.OpExists, jute.OpGetChildren2} {
			for _, where := range []string{"", "/c"} {
				n := w.root + "/o"
				add(n)
				add(n + "/c")
				w.printf("%v at %q, before: %v", op, where, before)
				r := session()
				once := func() { r.ask("once", int32(3), op, n+where, true) }
				if before {
					once()
				}
				arm(r, n, recursive)
				if !before {
					once()
				}
				for range 2 {
					add(n + "/c/d")
					set(n + "/c")
					del(n + "/c/d")
					add(n + "/e")
					set(n)
					del(n + "/e")
					r.ask("after changes", int32(-2), jute.OpPing)
				}
				arm(r, n, recursive)
				changes(n)
				r.ask("armed again", int32(-2), jute.OpPing)
				del(n + "/c")
				del(n)
			}
		}
	}
	w.printf("two modes")
	for _, modes := range [][2]int32{{persistent, recursive}, {recursive, persistent}} {
		n := w.root + "/two"
		add(n)
		r := session()
		arm(r, n, modes[0])
		arm(r, n, modes[1])
		changes(n)
		r.ask("after changes", int32(-2), jute.OpPing)
		remove(r, n, anyWatches)
		changes(n)
		r.ask("after removal", int32(-2), jute.OpPing)
		del(n)
	}
	w.printf("one within another")
	n := w.root + "/in"
	add(n)
	add(n + "/a")
	r = session()
	arm(r, n, recursive)
	arm(r, n+"/a", recursive)
	add(n + "/a/b")
	set(n + "/a/b")
	remove(r, n+"/a", anyWatches)
	del(n + "/a/b")
	r.ask("after changes", int32(-2), jute.OpPing)

	w.printf("a transaction")
	_, err := act.Multi(&zk.SetDataRequest{Path: n, Version: -1}, &zk.CreateRequest{Path: n + "/m", Acl: open},
		&zk.DeleteRequest{Path: n + "/m", Version: -1}, &zk.CreateRequest{Path: n + "/m", Acl: open}, &zk.SetDataRequest{Path: n + "/a", Version: -1})
	must(w.t, err)
	r.ask("after changes", int32(-2), jute.OpPing)

	w.printf("what may not be read")
	hidden := zk.WorldACL(zk.PermAll &^ zk.PermRead)
	_, err = act.Create(n+"/hidden", nil, 0, hidden)
	must(w.t, err)
	set(n + "/hidden")
	del(n + "/hidden")
	r.ask("below", int32(-2), jute.OpPing)
	_, err = act.Create(n+"/closed", nil, 0, hidden)
	must(w.t, err)
	arm(r, n+"/closed", recursive)
	r.ask("watched", int32(3), jute.OpGetChildren2, n+"/closed", true)
	add(n + "/closed/x")
	set(n + "/closed/x")
	r.ask("watched, and below", int32(-2), jute.OpPing)

	w.printf("another connection")
	n = w.root + "/r"
	add(n)
	add(n + "/old")
	_, stat, err := act.Exists(n)
	must(w.t, err)
	set(n)
	set(n + "/old")
	add(n + "/b")
	r = session()
	r.ask("setWatches2", int32(5), jute.OpSetWatches2, stat.Czxid, none, none, none, none, int32(1), n)
	changes(n)
	r.ask("after changes", int32(-2), jute.OpPing)
	r = session()
	r.ask("persistent alone", int32(5), jute.OpSetWatches2, stat.Czxid, none, none, none, int32(1), n, none)
	changes(n)
	r.ask("after changes", int32(-2), jute.OpPing)
	r = session()
	r.ask("all kinds", int32(5), jute.OpSetWatches2, stat.Czxid, int32(1), n, none, int32(1), n, int32(1), n, int32(1), n)
	changes(n)
	changes(n)
	r.ask("after changes", int32(-2), jute.OpPing)
	r = session()
	r.ask("all kinds, unchanged", int32(5), jute.OpSetWatches2, stat.Czxid+1000, int32(1), n, none, int32(1), n, int32(1), n, int32(1), n)
	changes(n)
	changes(n)
	r.ask("after changes", int32(-2), jute.OpPing)
}

// scriptArmNow arms a watch on the children of a node without listing them, by the
// request that arms those of an earlier connection. It fires once, and neither disturbs a
// recursive watch on the node nor is disturbed by one.
func scriptArmNow(w *world) {
	act := w.connect("act", long)
	must(w.t, act.create(w.root+"/n", nil, 0))
	r := w.raw()
	r.handshake(0, 10000, 0, make([]byte, 16))
	none := int32(0)
	now := func(path string) {
		r.ask("arm", int32(5), jute.OpSetWatches, int64(math.MaxInt64), none, none, int32(1), path)
	}
	r.ask("addWatch", int32(1), jute.OpAddWatch, w.root+"/n", recursive)
	for i := range 2 {
		now(w.root + "/n")
		for range 2 {
			must(w.t, act.create(w.root+"/n/a", nil, 0))
			_, err := act.Set(w.root+"/n/a", nil, -1)
			must(w.t, err)
			must(w.t, act.Delete(w.root+"/n/a", -1))
			r.ask("after changes", int32(-2), jute.OpPing)
		}
		hidden := w.root + "/n/hidden"
		now(w.root + "/n")
		_, err := act.Create(hidden, nil, 0, zk.WorldACL(zk.PermAll&^zk.PermRead))
		must(w.t, err)
		r.ask("hidden", int32(-2), jute.OpPing)
		now(w.root + "/n")
		must(w.t, act.Delete(hidden, -1))
		r.ask("hidden, deleted", int32(-2), jute.OpPing)
		now(w.root + "/none")
		if i == 0 {
			w.printf("in another connection")
			r = w.raw()
			r.handshake(0, 10000, 0, make([]byte, 16))
			r.ask("setWatches2", int32(5), jute.OpSetWatches2, int64(0), none, none, none, none, int32(1), w.root+"/n")
		}
	}
}

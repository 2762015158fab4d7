package coordtest_test

import (
	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// watch arms watches; each letter of kinds is one: data, exists, children.
func (p *peer) watch(kinds, path string) {
	for _, k := range kinds {
		var err error
		switch k {
		case 'd':
			_, _, _, err = p.GetW(path)
		case 'e':
			_, _, _, err = p.ExistsW(path)
		case 'c':
			_, _, _, err = p.ChildrenW(path)
		}
		if err != nil {
			p.w.printf("watch %c %s: %v", k, path, err)
		}
	}
}

func scriptWatch(w *world) {
	act, a := w.connect("act", long), w.connect("a", long)
	n := w.root + "/n"
	create := func() { must(w.t, act.create(n, nil, 0)) }
	del := func() { must(w.t, act.Delete(n, -1)) }
	set := func() {
		_, err := act.Set(n, []byte("x"), -1)
		must(w.t, err)
	}
	multi := func(ops ...any) {
		_, err := act.Multi(ops...)
		w.printf("multi: %v", err)
	}
	step := func(what, kinds string, f func()) {
		a.watch(kinds, n)
		f()
		a.saw(kinds + ", " + what)
	}
	// On a missing node only exists arms a watch.
	step("created", "d", create)
	del()
	step("created", "c", create)
	del()
	step("created", "e", create)
	for _, kinds := range []string{"d", "e", "c", "de", "dc", "ec", "dec"} {
		step("data changed", kinds, set)
		a.watch("dec", n) // so that every step begins with the same
		step("child created", kinds, func() { must(w.t, act.create(n+"/c", nil, 0)) })
		a.watch("dec", n)
		step("child deleted", kinds, func() { must(w.t, act.Delete(n+"/c", -1)) })
		step("child's data changed", kinds, func() {
			must(w.t, act.create(n+"/c", nil, 0))
			_, err := act.Set(n+"/c", nil, -1)
			must(w.t, err)
			must(w.t, act.Delete(n+"/c", -1))
		})
		step("acl changed", kinds, func() {
			_, err := act.SetACL(n, open, -1)
			must(w.t, err)
		})
		step("deleted", kinds, del)
		step("created again", "e", create)
	}
	step("same data", "d", set)
	step("nothing armed", "", set)
	a.watch("c", w.root)
	step("deleted, with its parent watched", "dc", del)
	a.watch("c", w.root)
	step("created, with its parent watched", "e", create)

	setOp, delOp := &zk.SetDataRequest{Path: n, Version: -1}, &zk.DeleteRequest{Path: n, Version: -1}
	newOp := &zk.CreateRequest{Path: n, Acl: open}
	for _, kinds := range []string{"d", "e", "c", "dc", "dec"} {
		a.watch("c", w.root)
		step("set and deleted", kinds, func() { multi(setOp, delOp) })
		a.watch("c", w.root)
		step("created and deleted", "e", func() { multi(newOp, delOp) })
		create()
		a.watch("c", w.root)
		step("deleted and created", kinds, func() { multi(delOp, newOp) })
		step("multi failed", kinds, func() { multi(setOp, delOp, delOp) })
	}
	a.saw("end")
}

// scriptDuplicates is about one's own changes, and several watchers.
func scriptDuplicates(w *world) {
	a, b := w.connect("a", long), w.connect("b", long)
	n := w.root + "/n"
	must(w.t, a.create(n, nil, 0))
	for range 3 {
		a.watch("dec", n)
		b.watch("dec", n)
	}
	_, err := a.Set(n, nil, -1)
	must(w.t, err)
	a.saw("own change")
	b.saw("a's change")
	a.watch("dec", n)
	b.watch("d", n)
	a.watch("c", w.root)
	must(w.t, a.create(n+"/x", nil, zk.FlagEphemeral))
	must(w.t, a.Delete(n+"/x", -1))
	must(w.t, a.Delete(n, -1))
	a.saw("deleted")
	b.saw("deleted")
	a.watch("e", n)
	a.watch("e", n)
	b.watch("e", n)
	must(w.t, a.create(n, nil, 0))
	a.saw("created")
	b.saw("created")
}

// scriptRearm sends SetWatches by hand, as its clients do after a reconnect.
func scriptRearm(w *world) {
	act := w.connect("act", long)
	nodes := []string{"/quiet", "/set", "/deleted", "/child", "/unchild", "/recreated", "/aclset", "/childset"}
	for _, n := range nodes {
		must(w.t, act.create(w.root+n, nil, 0))
		must(w.t, act.create(w.root+n+"/old", nil, 0))
	}
	_, stat, err := act.Exists(w.root + "/childset/old")
	must(w.t, err)
	since := stat.Czxid
	set := func(n string) {
		_, err := act.Set(w.root+n, []byte("x"), -1)
		must(w.t, err)
	}
	set("/set")
	must(w.t, act.Delete(w.root+"/deleted/old", -1))
	must(w.t, act.Delete(w.root+"/deleted", -1))
	must(w.t, act.create(w.root+"/child/new", nil, 0))
	must(w.t, act.Delete(w.root+"/unchild/old", -1))
	must(w.t, act.Delete(w.root+"/recreated/old", -1))
	must(w.t, act.Delete(w.root+"/recreated", -1))
	must(w.t, act.create(w.root+"/recreated", nil, 0))
	must(w.t, act.create(w.root+"/new", nil, 0))
	_, err = act.SetACL(w.root+"/aclset", open, -1)
	must(w.t, err)
	set("/childset/old")

	r := w.raw()
	r.handshake(0, 10000, 0, make([]byte, 16))
	var paths []any
	for _, n := range append(nodes, "/new", "/never") {
		paths = append(paths, w.root+n)
	}
	list := append([]any{int32(len(paths))}, paths...)
	none := int32(0)
	r.ask("data watches", append(append([]any{int32(1), jute.OpSetWatches, since}, list...), none, none)...)
	r.ask("exist watches", append(append([]any{int32(2), jute.OpSetWatches, since, none}, list...), none)...)
	r.ask("child watches", append([]any{int32(3), jute.OpSetWatches, since, none, none}, list...)...)
	r.ask("data watches, all old", append(append([]any{int32(4), jute.OpSetWatches, since + 1000}, list...), none, none)...)
	r.ask("setWatches2", int32(5), jute.OpSetWatches2, since, int32(1), w.root+"/new", none, none, none, none)
	// Now see what is armed.
	for _, n := range append(nodes, "/new", "/never") {
		if n == "/deleted" || n == "/never" {
			must(w.t, act.create(w.root+n, nil, 0))
		}
		set(n)
		must(w.t, act.create(w.root+n+"/another", nil, 0))
	}
	r.ask("after changes", int32(-2), jute.OpPing)
	r.ask("unsorted and missing", int32(6), jute.OpSetWatches, since, int32(2), w.root+"/b", w.root+"/a", int32(1), w.root+"/quiet", none)
	r.ask("too many", int32(7), jute.OpSetWatches, since, int32(2), w.root+"/b")
	r.ask("odd paths", int32(8), jute.OpSetWatches, since, int32(3), "", "a", "/a/", none, none)
}

package coordtest_test

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// scripts are run against both servers; see TestConformance.
var scripts = map[string]func(*world){
	"create":     scriptCreate,
	"change":     scriptChange,
	"sequence":   scriptSequence,
	"multi":      scriptMulti,
	"watch":      scriptWatch,
	"duplicates": scriptDuplicates,
	"rearm":      scriptRearm,
	"recursive":  scriptRecursive,
	"armnow":     scriptArmNow,
	"acl":        scriptACL,
	"paths":      scriptPaths,
	"ephemeral":  scriptEphemeral,
	"handshake":  scriptHandshake,
	"resume":     scriptResume,
	"frames":     scriptFrames,
	"opcodes":    scriptOpcodes,
	"layout":     scriptLayout,
}

const long = 10 * time.Second

func scriptCreate(w *world) {
	a := w.connect("a", long)
	try := func(path string, data []byte, flags int32) {
		got, err := a.Create(path, data, flags, open)
		w.printf("create %s %q %d: %q %v", path, data, flags, got, err)
	}
	r := w.root
	try(r+"/p", []byte("data"), 0)
	a.look(r + "/p")
	try(r+"/p", nil, 0)
	try(r+"/nil", nil, 0)
	a.look(r + "/nil")
	try(r+"/empty", []byte{}, 0)
	a.look(r + "/empty")
	try(r+"/e", nil, zk.FlagEphemeral)
	a.look(r + "/e")
	try(r+"/e/child", nil, 0)
	try(r+"/s-", nil, zk.FlagSequence)
	try(r+"/s-", nil, zk.FlagSequence)
	try(r+"/es-", nil, zk.FlagEphemeralSequential)
	try(r+"/", nil, zk.FlagSequence)
	try(r+"/none/x", nil, 0)
	try(r+"/like-container", nil, zk.FlagContainer) // by a plain create
	a.look(r + "/like-container")
	got, err := a.CreateContainer(r+"/container", []byte("c"), zk.FlagContainer, open)
	w.printf("container: %q %v", got, err)
	a.look(r + "/container")
	try(r+"/container/child", nil, zk.FlagEphemeralSequential)
	a.look(r + "/container")
	got, err = a.CreateContainer(r+"/none/container", nil, zk.FlagContainer, open)
	w.printf("container below none: %q %v", got, err)
	got, err = a.CreateTTL(r+"/ttl", nil, zk.FlagTTL, open, time.Minute)
	w.printf("ttl: %q %v", got, err)
	got, err = a.CreateTTL(r+"/none/ttl", nil, zk.FlagTTL, nil, time.Minute)
	w.printf("ttl below none: %q %v", got, err)
	a.list(r)
	a.list(r + "/none")
	a.look(r + "/none")
}

func scriptChange(w *world) {
	a := w.connect("a", long)
	set := func(path, data string, version int32) {
		stat, err := a.Set(path, []byte(data), version)
		if err != nil {
			stat = nil
		}
		w.printf("set %s %q %d: %s %v", path, data, version, w.stat(stat), err)
	}
	del := func(path string, version int32) { w.printf("delete %s %d: %v", path, version, a.Delete(path, version)) }
	n := w.root + "/n"
	must(w.t, a.create(n, []byte("0"), 0))
	set(n, "1", 0)
	set(n, "2", 0)
	set(n, "2", -1)
	set(n, "3", 2)
	set(n, "4", -2)
	set(w.root+"/none", "", -1)
	a.look(n)
	del(n, 0)
	del(n, 3)
	a.list(w.root)
	del(n, -1)
	del(w.root+"/none/x", -1)
	must(w.t, a.create(n, nil, 0))
	must(w.t, a.create(n+"/x", nil, 0))
	a.look(n)
	del(n, -1)
	del(n, 7)
	del(n+"/x", -1)
	a.look(n)
	del(n, 0)
	a.look(w.root)
	p, err := a.Sync(w.root)
	w.printf("sync: %q %v", p, err)
	p, err = a.Sync(w.root + "/none")
	w.printf("sync of none: %q %v", p, err)
}

func scriptSequence(w *world) {
	a := w.connect("a", long)
	for range 3 {
		p, err := a.Create(w.root+"/s-", nil, zk.FlagEphemeralSequential, open)
		w.printf("%s %v", p, err)
		must(w.t, a.Delete(p, -1))
		a.look(w.root)
	}
	must(w.t, a.create(w.root+"/plain", nil, 0))
	p, err := a.Create(w.root+"/t-", nil, zk.FlagSequence, open)
	w.printf("%s %v", p, err)
	res, err := a.Multi(
		&zk.CreateRequest{Path: w.root + "/m-", Acl: open, Flags: zk.FlagSequence},
		&zk.CreateRequest{Path: w.root + "/m-", Acl: open, Flags: zk.FlagEphemeralSequential})
	w.printf("%v %v", res, err)
	res, err = a.Multi(
		&zk.CreateRequest{Path: w.root + "/m-", Acl: open, Flags: zk.FlagSequence},
		&zk.DeleteRequest{Path: w.root + "/none", Version: -1})
	w.printf("%v %v", res, err)
	p, err = a.Create(w.root+"/u-", nil, zk.FlagSequence, open)
	w.printf("%s %v", p, err)
	a.list(w.root)
}

func scriptMulti(w *world) {
	a := w.connect("a", long)
	n := w.root + "/n"
	try := func(what string, ops ...any) {
		res, err := a.Multi(ops...)
		w.printf("%s: %v", what, err)
		for _, r := range res {
			w.printf("  %q %s %v", r.String, w.stat(r.Stat), r.Error)
		}
		a.list(w.root)
		a.look(n)
	}
	try("empty")
	try("create and set parent", &zk.CreateRequest{Path: n, Data: []byte("x"), Acl: open},
		&zk.SetDataRequest{Path: w.root, Data: []byte("mark"), Version: -1})
	try("check, set twice", &zk.CheckVersionRequest{Path: n, Version: 0},
		&zk.SetDataRequest{Path: n, Data: []byte("y"), Version: 0}, &zk.SetDataRequest{Path: n, Data: []byte("z"), Version: 1})
	try("fails in the middle", &zk.CreateRequest{Path: n + "/a", Acl: open}, &zk.SetDataRequest{Path: n, Data: []byte("lost"), Version: -1},
		&zk.CheckVersionRequest{Path: n, Version: 9}, &zk.DeleteRequest{Path: n, Version: -1})
	try("fails first", &zk.DeleteRequest{Path: w.root + "/none", Version: -1}, &zk.CreateRequest{Path: n + "/a", Acl: open})
	try("check of none", &zk.CheckVersionRequest{Path: w.root + "/none", Version: -1})
	try("downgrade", &zk.CreateRequest{Path: w.root + "/e", Flags: zk.FlagEphemeral, Acl: open}, &zk.DeleteRequest{Path: n, Version: -1})
	try("create below an ephemeral", &zk.CreateRequest{Path: w.root + "/e/x", Acl: open})
	try("create, delete, create", &zk.CreateRequest{Path: n, Acl: open}, &zk.DeleteRequest{Path: n, Version: 0}, &zk.CreateRequest{Path: n, Acl: open})
	try("delete of a parent with its child", &zk.CreateRequest{Path: n + "/c", Acl: open}, &zk.DeleteRequest{Path: n + "/c", Version: -1},
		&zk.DeleteRequest{Path: n, Version: -1})
	try("undone delete", &zk.CreateRequest{Path: n, Acl: open}, &zk.DeleteRequest{Path: w.root + "/e", Version: -1},
		&zk.CreateRequest{Path: n, Acl: open})
	a.look(w.root + "/e")
}

func scriptEphemeral(w *world) {
	a, b := w.connect("a", long), w.connect("b", long)
	for _, n := range []string{"/1", "/2", "/3"} {
		must(w.t, a.create(w.root+n, nil, zk.FlagEphemeral))
	}
	must(w.t, b.create(w.root+"/b", nil, zk.FlagEphemeral))
	w.printf("b deletes a's: %v", b.Delete(w.root+"/3", -1))
	for _, n := range []string{"/1", "/2"} {
		_, _, _, err := b.ExistsW(w.root + n)
		must(w.t, err)
	}
	_, _, _, err := b.ChildrenW(w.root)
	must(w.t, err)
	a.Close()
	b.list(w.root)
	b.sawSorted("a closed")
	b.Close()
	c := w.connect("c", long)
	c.list(w.root)
	c.look(w.root)
}

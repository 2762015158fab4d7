package coordtest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	opCreate    = int32(1)
	opDelete    = int32(2)
	worldScheme = "world"
)

func scriptPaths(w *world) {
	r := w.raw()
	r.greet(0, 10000, 0, make([]byte, 16))
	at := w.root
	for _, path := range []string{
		"", "/", "a", "a/b", "//", at + "/", at + "//a", at + "/./a", at + "/../a", at + "/.", at + "/..", at + "/...", at + "/.a", at + "/a.",
		at + "/..a", at + "/a\x00b", at + "/a\x01b", at + "/a\x1fb", at + "/a b", at + "/a\x7fb", at + "/a\u0085b", at + "/a\u009fb", at + "/a\u00a0b",
		at + "/é", at + "/\ud7ff", at + "/\ue000", at + "/\uf8ff", at + "/\uf900", at + "/\uffef", at + "/\ufff0", at + "/\xff",
		at + "/none/", at + "/none//x", at + "/none/./x", at + "/x\ty", "/zookeeper", "/zookeeper/quota", "/zookeeper/config",
	} {
		w.printf("%q", path)
		r.ask("create", int32(1), opCreate, path, []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0))
		r.ask("sequential", int32(2), opCreate, path, []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(2))
		r.ask("exists", int32(3), int32(3), path, false)
		r.ask("getData", int32(4), int32(4), path, false)
		if len(path) > 1 { // the root's are everyone's
			r.ask("getChildren", int32(5), int32(8), path, false)
		}
		r.ask("getACL", int32(6), int32(6), path)
		r.ask("sync", int32(7), int32(9), path)
		r.ask("setData", int32(8), int32(5), path, []byte{}, int32(99))
		r.ask("setACL", int32(9), int32(7), path, int32(1), int32(31), worldScheme, "anyone", int32(99))
		r.ask("check", int32(10), int32(13), path, int32(99))
		r.ask("delete", int32(11), opDelete, path, int32(99))
	}
}

func scriptHandshake(w *world) {
	none := make([]byte, 16)
	for _, ms := range []int32{-1, 0, 3999, 4000, 4001, 39999, 40000, 40001, 1 << 30} {
		w.raw().greet(0, ms, 0, none)
	}
	w.raw().greet(0, 10000, 0, nil)
	w.raw().greet(0, 10000, 0, []byte("odd"))
	w.raw().greet(0, 10000, 0, none, true)
	w.raw().greet(0, 10000, 0, none, false)
	w.raw().greet(0, 10000, 0, none, false, false, int64(0))
	w.raw().greet(-1, 10000, 0, none)
	w.raw().greet(1<<62, 10000, 0, none)
	ended := func(what string, r *raw) {
		_, err := r.receive()
		w.printf("%s: %v", what, err)
	}
	for _, session := range []int64{1, -1, 1 << 62} {
		r := w.raw()
		r.greet(0, 10000, session, none, false)
		ended("unknown session", r)
	}
	r := w.raw()
	r.send(int32(0), int64(0))
	ended("half a request", r)
	r = w.raw()
	r.Write([]byte{0, 0, 0, 0})
	ended("empty frame", r)
}

func scriptResume(w *world) {
	a := w.raw()
	id, password := a.greet(0, 10000, 0, make([]byte, 16))
	a.ask("ephemeral", int32(1), opCreate, w.root+"/e", []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(1))
	a.ask("watch", int32(2), int32(4), w.root+"/e", true)
	b := w.raw()
	b.greet(0, 20000, id, password)
	a.expect("the old connection")
	b.ask("new connection", int32(1), int32(3), w.root+"/e", false)
	b.ask("no watch any more", int32(2), int32(5), w.root+"/e", []byte{}, int32(-1))
	c := w.raw()
	c.greet(0, 4000, id, make([]byte, 16))
	c.expect("wrong password")
	b.expect("its rightful owner")
	d := w.raw()
	d.greet(0, 4000, id, password[:15])
	d.expect("short password")
	e := w.raw()
	e.greet(0, 4000, id, password)
	e.ask("close", int32(3), int32(-11))
	e.expect("after close")
	f := w.raw()
	f.greet(0, 4000, id, password)
	f.expect("closed session")
	g := w.raw()
	g.greet(0, 4000, 0, make([]byte, 16))
	g.ask("the ephemeral node", int32(1), int32(3), w.root+"/e", false)
	g.send(int32(2), int32(-11))
	g.send(int32(3), opCreate, w.root+"/late", []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0))
	g.expect("close")
	g.expectEnd("after close")
	w.connect("h", long).look(w.root + "/late")
}

func scriptFrames(w *world) {
	session := func() *raw {
		r := w.raw()
		r.send(int32(0), int64(0), int32(40000), int64(0), make([]byte, 16))
		r.receive()
		return r
	}
	write := func(what string, b []byte) {
		r := session()
		r.Write(b)
		// A request behind it, to see whether the connection lives.
		r.send(int32(77), int32(3), w.root, false)
		r.expect(what)
		r.expect(what)
	}
	write("negative length", []byte{0xff, 0xff, 0xff, 0xff})
	write("absurd length", []byte{0x7f, 0xff, 0xff, 0xff})
	write("empty", []byte{0, 0, 0, 0})
	write("half a header", []byte{0, 0, 0, 4, 0, 0, 0, 1})
	write("getData without path", pack(pack(int32(1), int32(4))))
	write("getData with a long path", pack(pack(int32(1), int32(4), int32(1000))))
	write("getData with a null path", pack(pack(int32(1), int32(4), int32(-1), false)))
	write("getData with a negative path", pack(pack(int32(1), int32(4), int32(-5), false)))
	write("getData without flag", pack(pack(int32(1), int32(4), w.root)))
	write("getData and more", pack(pack(int32(1), int32(4), w.root, false, "more")))
	write("create without acl", pack(pack(int32(1), opCreate, w.root+"/x", []byte{})))
	write("create with null acl", pack(pack(int32(1), opCreate, w.root+"/x", []byte{}, int32(-1), int32(0))))
	write("create with many acls", pack(pack(int32(1), opCreate, w.root+"/x", []byte{}, int32(1<<30), int32(0))))
	write("create with a null path", pack(pack(int32(1), opCreate, int32(-1), []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0))))
	for _, flags := range []int32{-1, 4, 5, 6, 7, 100} {
		write("create with odd flags", pack(pack(int32(1), opCreate, w.root+"/odd", []byte{}, int32(1), int32(31), worldScheme, "anyone", flags)))
	}
	for _, flags := range []int32{0, 1, 2, 3, 4, 5} {
		write("container with odd flags", pack(pack(int32(1), int32(19), w.root+"/c-", []byte{}, int32(1), int32(31), worldScheme, "anyone", flags)))
	}
	write("sync with no path", pack(pack(int32(1), int32(9))))
	write("multi with nothing", pack(pack(int32(1), int32(14))))
	write("setWatches with nothing", pack(pack(int32(1), int32(101))))
	write("auth with nothing", pack(pack(int32(1), int32(100))))
	write("auth, unknown scheme", pack(pack(int32(9), int32(100), int32(0), "nosuch", []byte("x"))))
	write("auth, world", pack(pack(int32(9), int32(100), int32(0), worldScheme, []byte("anyone"))))
	write("auth, ip", pack(pack(int32(9), int32(100), int32(0), "ip", []byte(""))))
	write("auth, digest", pack(pack(int32(-4), int32(100), int32(5), "digest", []byte("nocolon"))))
	write("auth, null credential", pack(pack(int32(9), int32(100), int32(0), "digest", int32(-1))))
	for _, size := range []int{1_000_000, 1_048_000, 1_048_575, 1_048_576} {
		data := bytes.Repeat([]byte("x"), size-4-8-len(pack(w.root+"/big"))-4-4-4-len(pack(worldScheme, "anyone"))-4+4)
		b := pack(pack(int32(1), opCreate, w.root+"/big", data, int32(1), int32(31), worldScheme, "anyone", int32(0)))
		w.printf("frame of %d", binary.BigEndian.Uint32(b))
		write("big", b)
	}
	session().ask("harmed?", int32(1), int32(3), w.root, false)
}

func scriptOpcodes(w *world) {
	for _, op := range []int32{0, 10, 23, 99, 108, 1000, -2, -12} {
		r := w.raw()
		r.greet(0, 40000, 0, make([]byte, 16))
		r.ask("unknown", int32(1), op, w.root, int32(0))
		r.expect("then")
	}
	r := w.raw()
	r.greet(0, 40000, 0, make([]byte, 16))
	r.ask("ping with another xid", int32(5), int32(11))
	r.ask("same xid", int32(5), int32(3), w.root, false)
	r.ask("same xid", int32(5), int32(3), w.root, false)
	r.ask("create2", int32(6), int32(15), w.root+"/2", []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0))
	r.ask("ping", int32(-2), int32(11))
}

// scriptLayout shows whole replies of multis.
func scriptLayout(w *world) {
	r := w.raw()
	r.greet(0, 40000, 0, make([]byte, 16))
	head := func(op int32) []any { return []any{op, false, int32(-1)} }
	create := func(op int32, name string) []any {
		return append(head(op), w.root+name, []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0))
	}
	check := func(version int32) []any { return append(head(13), w.root, version) }
	end := []any{int32(-1), true, int32(-1)}
	ask := func(what string, ops ...[]any) {
		fields := []any{int32(1), int32(14)}
		for _, o := range ops {
			fields = append(fields, o...)
		}
		r.send(fields...)
		b, err := r.receive()
		if err != nil {
			w.printf("%s: %v", what, err)
			return
		}
		w.printf("%s: error %d, %x", what, int32(binary.BigEndian.Uint32(b[12:])), strings.ReplaceAll(string(b[16:]), w.root, "R"))
	}
	ask("checks", check(0), check(-1), end)
	ask("one create", create(1, "/a"), end)
	ask("failed", check(0), create(1, "/b"), create(1, "/a"), create(1, "/c"), check(0), end)
	ask("failed first", check(1), check(0), end)
	ask("nothing", end)
	ask("no end", check(0))
	ask("unknown op", append(head(99), w.root), end)
	ask("ping", head(11), end)
	ask("setACL", append(head(7), w.root, int32(1), int32(31), worldScheme, "anyone", int32(-1)), end)
	ask("getData", append(head(4), w.root, false), end)
	ask("ttl", append(head(21), w.root+"/ttl", []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(5), int64(1000)), end)
	for _, op := range []int32{15, 19} {
		ask(fmt.Sprint("create by op ", op), create(op, fmt.Sprint("/", op)), end)
	}
	for _, op := range []int32{1, 15, 19} {
		container := append(head(op), fmt.Sprint(w.root, "/c", op), []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(4))
		r.ask("container", append(append([]any{int32(2), int32(14)}, container...), end...)...)
	}
	ask("bad path", check(0), append(head(2), "none", int32(0)), end)
	ask("ends early", end, check(7))
}

// expectEnd waits for the server to hang up after a close. A real one sometimes
// finds the time to say of a request that came behind it that its session is over.
func (r *raw) expectEnd(what string) {
	b, err := r.receive()
	if err == nil && len(b) == 16 && int32(binary.BigEndian.Uint32(b[12:])) == -112 {
		_, err = r.receive()
	}
	r.w.printf("%s: %v", what, err)
}

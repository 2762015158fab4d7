package coordtest_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/zkcoord/zkcoord/internal/jute"
)

const worldScheme = "world"

func scriptPaths(w *world) {
	r := w.raw()
	r.handshake(0, 10000, 0, make([]byte, 16))
	at := w.root
	for _, path := range []string{
		"", "/", "a", "a/b", "//", at + "/", at + "//a", at + "/./a", at + "/../a", at + "/.", at + "/..", at + "/...", at + "/.a", at + "/a.",
		at + "/..a", at + "/a\x00b", at + "/a\x01b", at + "/a\x1fb", at + "/a b", at + "/a\x7fb", at + "/a\u0085b", at + "/a\u009fb", at + "/a\u00a0b",
		at + "/é", at + "/\ud7ff", at + "/\ue000", at + "/\uf8ff", at + "/\uf900", at + "/\uffef", at + "/\ufff0", at + "/\xff",
		at + "/none/", at + "/none//x", at + "/none/./x", at + "/x\ty", "/zookeeper", "/zookeeper/quota", "/zookeeper/config",
	} {
		w.printf("%q", path)
		r.ask("create", int32(1), jute.OpCreate, path, []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0))
		r.ask("sequential", int32(2), jute.OpCreate, path, []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(2))
		r.ask("exists", int32(3), jute.OpExists, path, false)
		r.ask("getData", int32(4), jute.OpGetData, path, false)
		if len(path) > 1 { // the root's are everyone's
			r.ask("getChildren", int32(5), jute.OpGetChildren, path, false)
		}
		r.ask("getACL", int32(6), jute.OpGetACL, path)
		r.ask("sync", int32(7), jute.OpSync, path)
		r.ask("setData", int32(8), jute.OpSetData, path, []byte{}, int32(99))
		r.ask("setACL", int32(9), jute.OpSetACL, path, int32(1), int32(31), worldScheme, "anyone", int32(99))
		r.ask("check", int32(10), jute.OpCheck, path, int32(99))
		r.ask("delete", int32(11), jute.OpDelete, path, int32(99))
	}
}

func scriptHandshake(w *world) {
	none := make([]byte, 16)
	for _, ms := range []int32{-1, 0, 3999, 4000, 4001, 39999, 40000, 40001, 1 << 30} {
		w.raw().handshake(0, ms, 0, none)
	}
	w.raw().handshake(0, 10000, 0, nil)
	w.raw().handshake(0, 10000, 0, []byte("odd"))
	w.raw().handshake(0, 10000, 0, none, true)
	w.raw().handshake(0, 10000, 0, none, false)
	w.raw().handshake(0, 10000, 0, none, false, false, int64(0))
	w.raw().handshake(-1, 10000, 0, none)
	w.raw().handshake(1<<62, 10000, 0, none)
	ended := func(what string, r *raw) {
		_, err := r.receive()
		w.printf("%s: %v", what, err)
	}
	for _, session := range []int64{1, -1, 1 << 62} {
		r := w.raw()
		r.handshake(0, 10000, session, none, false)
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
	id, password := a.handshake(0, 10000, 0, make([]byte, 16))
	a.ask("ephemeral", int32(1), jute.OpCreate, w.root+"/e", []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(1))
	a.ask("watch", int32(2), jute.OpGetData, w.root+"/e", true)
	b := w.raw()
	b.handshake(0, 20000, id, password)
	a.expect("the old connection")
	b.ask("new connection", int32(1), jute.OpExists, w.root+"/e", false)
	b.ask("no watch any more", int32(2), jute.OpSetData, w.root+"/e", []byte{}, int32(-1))
	c := w.raw()
	c.handshake(0, 4000, id, make([]byte, 16))
	c.expect("wrong password")
	b.expect("its rightful owner")
	d := w.raw()
	d.handshake(0, 4000, id, password[:15])
	d.expect("short password")
	e := w.raw()
	e.handshake(0, 4000, id, password)
	e.ask("close", int32(3), jute.OpClose)
	e.expect("after close")
	f := w.raw()
	f.handshake(0, 4000, id, password)
	f.expect("closed session")
	g := w.raw()
	g.handshake(0, 4000, 0, make([]byte, 16))
	g.ask("the ephemeral node", int32(1), jute.OpExists, w.root+"/e", false)
	g.send(int32(2), jute.OpClose)
	g.send(int32(3), jute.OpCreate, w.root+"/late", []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0))
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
		r.send(int32(77), jute.OpExists, w.root, false)
		r.expect(what)
		r.expect(what)
	}
	write("negative length", []byte{0xff, 0xff, 0xff, 0xff})
	write("absurd length", []byte{0x7f, 0xff, 0xff, 0xff})
	write("empty", []byte{0, 0, 0, 0})
	write("half a header", []byte{0, 0, 0, 4, 0, 0, 0, 1})
	write("getData without path", pack(int32(1), jute.OpGetData))
	write("getData with a long path", pack(int32(1), jute.OpGetData, int32(1000)))
	write("getData with a null path", pack(int32(1), jute.OpGetData, int32(-1), false))
	write("getData with a negative path", pack(int32(1), jute.OpGetData, int32(-5), false))
	write("getData without flag", pack(int32(1), jute.OpGetData, w.root))
	write("getData and more", pack(int32(1), jute.OpGetData, w.root, false, "more"))
	write("create without acl", pack(int32(1), jute.OpCreate, w.root+"/x", []byte{}))
	write("create with null acl", pack(int32(1), jute.OpCreate, w.root+"/x", []byte{}, int32(-1), int32(0)))
	write("create with many acls", pack(int32(1), jute.OpCreate, w.root+"/x", []byte{}, int32(1<<30), int32(0)))
	write("create with a null path", pack(int32(1), jute.OpCreate, int32(-1), []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0)))
	for _, flags := range []int32{-1, 4, 5, 6, 7, 100} {
		write("create with odd flags", pack(int32(1), jute.OpCreate, w.root+"/odd", []byte{}, int32(1), int32(31), worldScheme, "anyone", flags))
	}
	for _, flags := range []int32{0, 1, 2, 3, 4, 5} {
		write("container with odd flags", pack(int32(1), jute.OpCreateContainer, w.root+"/c-", []byte{}, int32(1), int32(31), worldScheme, "anyone", flags))
	}
	write("sync with no path", pack(int32(1), jute.OpSync))
	write("multi with nothing", pack(int32(1), jute.OpMulti))
	write("setWatches with nothing", pack(int32(1), jute.OpSetWatches))
	write("auth with nothing", pack(int32(1), jute.OpAuth))
	write("auth, unknown scheme", pack(int32(9), jute.OpAuth, int32(0), "nosuch", []byte("x")))
	write("auth, world", pack(int32(9), jute.OpAuth, int32(0), worldScheme, []byte("anyone")))
	write("auth, ip", pack(int32(9), jute.OpAuth, int32(0), "ip", []byte("")))
	write("auth, digest", pack(int32(-4), jute.OpAuth, int32(5), "digest", []byte("nocolon")))
	write("auth, null credential", pack(int32(9), jute.OpAuth, int32(0), "digest", int32(-1)))
	for _, size := range []int{1_000_000, 1_048_000, 1_048_575, 1_048_576} {
		with := func(data []byte) []byte {
			return pack(int32(1), jute.OpCreate, w.root+"/big", data, int32(1), int32(31), worldScheme, "anyone", int32(0))
		}
		b := with(bytes.Repeat([]byte("x"), 4+size-len(with(nil))))
		w.printf("frame of %d", len(b)-4)
		write("big", b)
	}
	session().ask("harmed?", int32(1), jute.OpExists, w.root, false)
}

func scriptOpcodes(w *world) {
	for _, op := range []jute.Op{0, 10, 23, 99, 108, 1000, -2, -12} {
		r := w.raw()
		r.handshake(0, 40000, 0, make([]byte, 16))
		r.ask("unknown", int32(1), op, w.root, int32(0))
		r.expect("then")
	}
	r := w.raw()
	r.handshake(0, 40000, 0, make([]byte, 16))
	r.ask("ping with another xid", int32(5), jute.OpPing)
	r.ask("same xid", int32(5), jute.OpExists, w.root, false)
	r.ask("same xid", int32(5), jute.OpExists, w.root, false)
	r.ask("create2", int32(6), jute.OpCreate2, w.root+"/2", []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0))
	r.ask("ping", int32(-2), jute.OpPing)
}

// scriptLayout shows whole replies of multis.
func scriptLayout(w *world) {
	r := w.raw()
	r.handshake(0, 40000, 0, make([]byte, 16))
	head := func(op jute.Op) []any { return []any{op, false, int32(-1)} }
	create := func(op jute.Op, name string) []any {
		return append(head(op), w.root+name, []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0))
	}
	check := func(version int32) []any { return append(head(jute.OpCheck), w.root, version) }
	end := []any{int32(-1), true, int32(-1)}
	ask := func(what string, ops ...[]any) {
		fields := []any{int32(1), jute.OpMulti}
		for _, o := range ops {
			fields = append(fields, o...)
		}
		r.send(fields...)
		b, err := r.receive()
		if err != nil {
			w.printf("%s: %v", what, err)
			return
		}
		d := jute.NewDecoder(b)
		w.printf("%s: error %d, %x", what, d.ReplyHeader().Code, strings.ReplaceAll(string(d.Rest()), w.root, "R"))
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
	for _, op := range []jute.Op{jute.OpCreate2, jute.OpCreateContainer} {
		ask(fmt.Sprintf("create by op %d", op), create(op, fmt.Sprintf("/%d", op)), end)
	}
	for _, op := range []jute.Op{jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer} {
		container := append(head(op), fmt.Sprintf("%s/c%d", w.root, op), []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(4))
		r.ask("container", append(append([]any{int32(2), jute.OpMulti}, container...), end...)...)
	}
	ask("bad path", check(0), append(head(2), "none", int32(0)), end)
	ask("ends early", end, check(7))
}

// expectEnd waits for the server to hang up after a close. A real one sometimes
// finds the time to say of a request that came behind it that its session is over.
func (r *raw) expectEnd(what string) {
	b, err := r.receive()
	if err == nil && len(b) == 16 && jute.NewDecoder(b).ReplyHeader().Code == jute.CodeSessionExpired {
		_, err = r.receive()
	}
	r.w.printf("%s: %v", what, err)
}

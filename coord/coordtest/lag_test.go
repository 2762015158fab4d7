package coordtest_test

import (
	"context"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// scriptLagging is run against a follower of three servers, which link leads to, and the
// leader, which rest leads to. lag has the follower do what the leader does only when
// heal is called.
func scriptLagging(w *world, rest *coordtest.Link, lag func() (heal func())) {
	follower := w.link
	at := func(l *coordtest.Link) *raw {
		w.link = l
		r := w.raw()
		r.SetDeadline(time.Now().Add(time.Minute))
		return r
	}
	session := func(l *coordtest.Link, timeout int32) (*raw, int64, []byte) {
		r := at(l)
		id, password := r.handshake(0, timeout, 0, nil)
		return r, id, password
	}
	none := make([]byte, 16)
	request := func(xid int32, fields ...any) []any { return append([]any{xid}, fields...) }
	create := func(xid int32, path string, flags int32) []any {
		return request(xid, jute.OpCreate, w.root+path, []byte{}, int32(1), int32(31), worldScheme, "anyone", flags)
	}
	remove := func(xid int32, path string) []any { return request(xid, jute.OpDelete, w.root+path, int32(-1)) }
	exists := func(xid int32, path string) []any { return request(xid, jute.OpExists, w.root+path, true) }
	children := func(xid int32) []any { return request(xid, jute.OpGetChildren2, w.root, true) }
	sync := func(xid int32) []any { return request(xid, jute.OpSync, "/") }
	ping := request(-2, jute.OpPing)
	// settled waits until the follower has done what the leader has.
	settled := func(r *raw) {
		r.ask("settled", sync(9)...)
	}

	const long = 40000
	there, _, _ := session(rest, long)
	reader, readerID, readerPassword := session(follower, long)
	reader.ask("ephemeral", create(1, "/e", 1)...)
	over, overID, overPassword := session(follower, long)
	over.ask("ephemeral of the one that is over", create(1, "/over", 1)...)
	left, leftID, leftPassword := session(follower, long) // and it stays on its connection
	left.ask("ephemeral of the one left", create(1, "/left", 1)...)
	brief, _, _ := session(follower, 4000)
	brief.ask("ephemeral of the brief one", create(1, "/brief", 1)...)
	writer, writerID, writerPassword := session(follower, long)
	other, _, _ := session(follower, long)
	closer, _, _ := session(follower, long)
	closer.ask("ephemeral of the closer", create(1, "/closer", 1)...)
	moved, movedID, movedPassword := session(rest, long)
	away, awayID, awayPassword := session(follower, long)
	pending, pendingID, pendingPassword := session(follower, long)
	_, forgedID, _ := session(follower, long)
	kept, keptID, keptPassword := session(rest, long)
	settled(reader)
	reader.ask("a watch", exists(2, "/news")...)
	reader.ask("a watch for children", children(3)...)
	heal := lag()
	defer heal()

	// The follower tells the leader whom it hears.
	for range 7 {
		<-time.After(time.Second)
		brief.ask("ping", ping...)
	}
	there.ask("ephemeral of the brief one at the leader", exists(1, "/brief")...)

	// The leader ends sessions; the follower does not know.
	for _, end := range []struct {
		id       int64
		password []byte
	}{{overID, overPassword}, {leftID, leftPassword}} {
		r := at(rest)
		r.handshake(0, long, end.id, end.password)
		r.ask("the end of a session", int32(1), jute.OpClose)
	}
	there.ask("what the leader has ended", exists(2, "/over")...)
	over.ask("at the follower", exists(2, "/over")...)
	over.ask("ping there", ping...)
	at(follower).handshake(0, long, overID, overPassword)
	over.expect("the old connection")
	left.ask("of the one left", request(2, jute.OpExists, w.root+"/left", false)...) // a real server may or may not tell it of the deletion
	left.mute("a write of the one left", create(3, "/late", 0)...)
	left.mute("exists behind it", exists(4, "/left")...)

	// The past.
	there.ask("a write elsewhere", create(2, "/news", 0)...)
	there.ask("another", create(3, "/more", 0)...)
	there.ask("and a third", remove(4, "/more")...)
	reader.ask("exists", exists(4, "/news")...)
	reader.ask("children", children(5)...)
	reader.ask("ping", ping...)
	resumed := at(follower)
	resumed.handshake(0, long, readerID, readerPassword)
	reader.expect("the old connection")
	resumed.ask("exists in the resumed session", exists(6, "/news")...)
	resumed.ask("children in the resumed session", children(7)...)
	at(follower).handshake(1<<62, long, writerID, writerPassword) // has seen the future
	at(follower).handshake(0, long, forgedID, none)

	// Writes are done, and answered later.
	writer.mute("a write", create(1, "/written", 0)...)
	there.ask("it is done", exists(5, "/written")...)
	writer.mute("exists behind it", exists(2, "/written")...)
	writer.mute("a second write", remove(3, "/written")...)
	writer.mute("exists behind that", exists(4, "/written")...)
	writer.mute("ping behind it", ping...)
	writer.ask("credentials behind it", int32(-4), jute.OpAuth, int32(0), "digest", []byte("a:b"))
	other.mute("a sync", sync(1)...)
	other.mute("ping behind it", ping...)
	pending.mute("a write", create(1, "/pending", 1)...)
	again := at(follower)
	again.handshake(0, long, pendingID, pendingPassword)
	again.mute("exists in the resumed session", exists(2, "/pending")...)
	closer.mute("the end of a session", int32(2), jute.OpClose)
	there.ask("it is over", exists(6, "/closer")...)
	fresh := at(follower)
	fresh.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	fresh.handshake(0, long, 0, nil)
	there.ask("a session elsewhere that the follower does not know", exists(7, "/none")...)
	_, lateID, latePassword := session(rest, long)
	late := at(follower)
	late.handshake(0, long, lateID, latePassword)
	late.ask("exists in a session that is news", exists(1, "/news")...)

	// Sessions that go on at another server.
	came := at(follower)
	came.handshake(0, long, movedID, movedPassword)
	moved.ask("exists where the session was", exists(1, "/e")...)
	at(follower).handshake(0, long, keptID, keptPassword)
	kept.ask("a write where the session was", create(2, "/lost", 0)...)
	came.mute("a write where it is", create(2, "/found", 0)...)
	went := at(rest)
	went.handshake(0, long, awayID, awayPassword)
	away.ask("exists where the session was", exists(1, "/news")...)
	went.ask("a write where it is", create(1, "/away", 0)...)
	away.mute("a write where the session was", create(2, "/lost", 0)...)
	there.ask("what is lost", exists(8, "/lost")...)

	heal()
	settled(resumed)
	left.expect("the one left, healed")
	writer.expect("the write, healed")
	writer.expect("exists behind it")
	writer.expect("the second write")
	writer.expect("exists behind that")
	writer.expect("ping behind it")
	other.expect("the sync, healed")
	other.expect("ping behind it")
	again.expect("the resumed session, healed")
	closer.expect("the end of a session, healed")
	closer.expect("behind it")
	fresh.SetReadDeadline(time.Now().Add(time.Minute))
	fresh.welcomed()
	fresh.ask("exists in it", exists(1, "/news")...)
	came.expect("the write, healed")
	away.expect("the write where the session was, healed")
	late.ask("exists in the session that was news", exists(2, "/written")...)
	at(follower).handshake(0, long, readerID, readerPassword)
}

// A follower of this package that lags answers what a real one answers, and nothing else.
func TestLagging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := coordtest.NewServer(t)
		w := newWorld(t, s.Dial, "/lagging")
		w.link = lineTo(t, s, "follower:2181")
		scriptLagging(w, lineTo(t, s, "leader:2181"), func() func() { return s.Lag("follower:2181") })
		compare(t, "lagging", w.log.String())
	})
}

// TestLaggingReal shows that the transcript is what real servers do.
func TestLaggingReal(t *testing.T) {
	if !harness.Stress && !*update {
		t.Skip("real servers do what they did when the transcript was made: make stress asks them again")
	}
	e := ensemble.New(t, &ensemble.Options{Nodes: 3, Relays: true})
	to := func(addr string) *coordtest.Link {
		l := coordtest.NewLink(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		})
		t.Cleanup(l.Close)
		return l
	}
	leader := e.Settled(t)
	follower := e.Followers()[0]
	w := newWorld(t, to(leader.Addr()).Dial, "/lagging")
	w.link = to(follower.Addr())
	scriptLagging(w, to(leader.Addr()), func() func() { return e.Lag(follower) })
	if *update {
		must(t, os.WriteFile(transcript("lagging"), []byte(w.log.String()), 0o666))
		return
	}
	compare(t, "lagging", w.log.String())
}

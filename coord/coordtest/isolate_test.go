package coordtest_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// mute asks for what is to stay unanswered, and does not wait for long.
func (r *raw) mute(what string, fields ...any) {
	r.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	r.ask(what, fields...)
	r.SetReadDeadline(time.Now().Add(time.Minute))
}

// scriptIsolated is run against the leader of three servers, which link leads to,
// and the others, which rest leads to. isolate cuts the leader off, and returns when
// the others serve without it.
func scriptIsolated(w *world, rest *coordtest.Link, isolate func() (heal func())) {
	leader := w.link
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
	create := func(path string, flags int32) []any {
		return []any{jute.OpCreate, w.root + path, []byte{}, int32(1), int32(31), worldScheme, "anyone", flags}
	}
	request := func(xid int32, fields ...any) []any { return append([]any{xid}, fields...) }
	exists := func(path string) []any { return []any{jute.OpExists, w.root + path, true} }
	ping := []any{int32(-2), jute.OpPing}
	sync := []any{jute.OpSync, "/"}

	reader, readerID, readerPassword := session(leader, 40000)
	reader.ask("ephemeral", request(1, create("/e", 1)...)...)
	writer, writerID, writerPassword := session(leader, 40000)
	other, _, _ := session(leader, 40000)
	_, briefID, briefPassword := session(leader, 40000)
	_, restID, restPassword := session(rest, 40000)
	heal := isolate()
	defer heal()

	there, _, _ := session(rest, 40000)
	there.ask("a write elsewhere", request(1, create("/news", 0)...)...)
	at(leader).handshake(0, 4000, briefID, briefPassword) // to the others it stays long
	reader.ask("exists", request(2, exists("/news")...)...)
	reader.ask("sync", request(3, sync...)...)
	reader.ask("ping", ping...)
	resumed := at(leader)
	resumed.handshake(0, 40000, readerID, readerPassword)
	reader.expect("the old connection")
	resumed.ask("exists in the resumed session", request(2, exists("/e")...)...)
	at(leader).handshake(0, 40000, restID, restPassword)
	at(leader).handshake(0, 40000, restID, none)
	at(leader).handshake(1<<62, 40000, writerID, writerPassword)

	writer.mute("a write", request(1, create("/lost", 0)...)...)
	writer.mute("exists behind it", request(2, exists("/e")...)...)
	writer.mute("sync behind it", request(3, sync...)...)
	writer.mute("ping behind it", ping...)
	writer.ask("credentials behind it", int32(-4), jute.OpAuth, int32(0), "digest", []byte("a:b"))
	other.ask("exists of another", request(1, exists("/e")...)...)
	other.ask("sync of another", request(2, sync...)...)
	other.ask("ping of another", ping...)
	resumed = at(leader)
	resumed.handshake(0, 40000, writerID, writerPassword)
	resumed.mute("exists in the resumed session", request(1, exists("/e")...)...)
	resumed.mute("ping in the resumed session", ping...)
	other.mute("a write that fails", request(3, jute.OpDelete, w.root+"/none", int32(-1))...)
	other.mute("ping behind it", ping...)
	fresh := at(leader)
	fresh.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	fresh.handshake(0, 40000, 0, nil)
	<-time.After(8 * time.Second) // two ticks more than it takes
	at(leader).handshake(0, 40000, briefID, briefPassword)

	heal()
	other.SetReadDeadline(time.Now().Add(time.Minute))
	_, err := other.receive()
	w.printf("healed: %v", err)
	// Without the zxid: a real leader may take so long to find out that by now the others
	// have ended the sessions that they do not hear.
	there.send(request(2, exists("/lost")...)...)
	b, err := there.receive()
	w.printf("what was lost: error %d, %v", jute.NewDecoder(b).ReplyHeader().Code, err)
}

// anyEpoch is an epoch later than that in which a script began. An election that fails
// takes one, too.
var anyEpoch = regexp.MustCompile(`\+[0-9]+ epoch`)

// lineTo returns a line to the server at addr of an ensemble.
func lineTo(t *testing.T, s *coordtest.Server, addr string) *coordtest.Link {
	l := coordtest.NewLink(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return s.Dial(ctx, network, addr)
	})
	t.Cleanup(l.Close)
	return l
}

// An isolated leader of this package answers what a real one answers, and nothing else;
// what it leaves unanswered is not done, and the others go on without it.
func TestIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := coordtest.NewServer(t)
		w := newWorld(t, s.Dial, "/isolated")
		w.link = lineTo(t, s, "leader:2181")
		scriptIsolated(w, lineTo(t, s, "others:2181"), func() func() { return s.Isolate("leader:2181") })
		compare(t, "isolated", w.log.String())
	})
}

// TestIsolatedReal shows that the transcript is what real servers do.
func TestIsolatedReal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	e := ensemble.New(t, &ensemble.Options{
		Nodes:      3,
		Namespaces: true,
		Config:     map[string]string{"syncLimit": "60"}, // ticks for which the leader does not know
	})
	to := func(addr string) *coordtest.Link {
		l := coordtest.NewLink(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		})
		t.Cleanup(l.Close)
		return l
	}
	old := e.Settled(t)
	w := newWorld(t, to(old.Addr()).Dial, "/isolated")
	w.link = to(old.Addr())
	other := e.Node(0)
	if other == old {
		other = e.Node(1)
	}
	scriptIsolated(w, to(other.Addr()), func() func() {
		heal, err := e.Isolate(old, ensemble.Reset)
		must(t, err)
		deadline := time.Now().Add(time.Minute)
		for n := e.Leader(); n == nil || n == old; n = e.Leader() {
			if time.Now().After(deadline) {
				t.Fatal("no other leader after a minute")
			}
			<-time.After(10 * time.Millisecond)
		}
		must(t, e.WaitServing(t.Context()))
		return heal
	})
	if *update {
		must(t, os.WriteFile(transcript("isolated"), []byte(w.log.String()), 0o666))
		return
	}
	compare(t, "isolated", anyEpoch.ReplaceAllString(w.log.String(), "+1 epoch"))
}

// The others end a session that they do not hear, its timeout after they have taken
// over, and let a client go on that comes to them in time. Neither side sees what
// happens on the other.
func TestIsolatedSides(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		const T = 4 * time.Second
		options := &coord.Options{SessionTimeout: T}
		there, both, elsewhere := s.Client(t, options, "leader:2181"), s.Client(t, options, "leader:2181", "others:2181"), s.Client(t, nil)
		for both.Conn().Server() != "leader:2181" {
			s.LinkOf(both).Reset()
			time.Sleep(time.Second)
		}
		for _, c := range []*coord.Client{there, both} {
			must(t, ephemeral(c, fmt.Sprintf("/root/%v", c.Kit().Session().ID())))
		}
		old, moved := there.Kit().Session(), both.Kit().Session()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		seen := there.Watch(ctx, "/root/news", event.Presence)
		<-seen.Updates()

		began := time.Now()
		heal := s.Isolate("leader:2181")
		defer heal()
		time.Sleep(time.Second)
		must(t, ephemeral(elsewhere, "/root/news"))
		for both.Conn().Server() == "leader:2181" {
			s.LinkOf(both).Reset()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Until(began.Add(T)))
		equal(t, "the session of the client that stays, in time", slices.Contains(s.Sessions(), old.ID()), true)
		time.Sleep(2*time.Second + 1) // a tick
		equal(t, "the session of the client that stays", slices.Contains(s.Sessions(), old.ID()), false)
		equal(t, "the session of the client that came", slices.Contains(s.Sessions(), moved.ID()), true)
		equal(t, "znode of the session that is over", strings.Contains(s.Tree(), fmt.Sprint(old.ID())), false)
		select {
		case snap := <-seen.Updates():
			t.Errorf("heard of %+v", snap)
		default:
		}
		equal(t, "watches of the others", s.Watches(), 0)

		heal()
		heal()
		<-old.Done()
		for snap := range seen.All() {
			if snap.Exists { // in the next session
				break
			}
		}
	})
}

// A client that closed its session in the same moment does not keep the leader from
// being isolated. It has its answer, as from the kernel of a real leader.
func TestIsolateAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		line, err := s.Dial(t.Context(), "tcp", "leader:2181")
		must(t, err)
		defer line.Close()
		r := &raw{line, w}
		r.handshake(0, 40000, 0, nil)
		r.send(int32(1), jute.OpClose)
		synctest.Wait() // the answer is under way
		defer s.Isolate("leader:2181")()
		r.expect("close")
		equal(t, "what the client heard", strings.Contains(w.log.String(), "close: xid 1"), true)
	})
}

func ephemeral(c *coord.Client, path string) error {
	_, err := c.Conn().Create(path, nil, zk.FlagEphemeral, open)
	return err
}

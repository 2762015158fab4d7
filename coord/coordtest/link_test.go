package coordtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// request sends an exists and says whether it was answered within two seconds.
func (r *raw) answered(xid int32) bool {
	r.send(xid, int32(3), "/root", false)
	return r.hears(xid)
}

func (r *raw) hears(xid int32) bool {
	r.SetReadDeadline(time.Now().Add(2 * time.Second))
	defer r.SetReadDeadline(time.Time{})
	r.w.log.Reset()
	r.expect("reply")
	return strings.HasPrefix(r.w.log.String(), fmt.Sprintf("reply: xid %d,", xid))
}

// session opens a raw session of 40 s.
func (w *world) session() *raw {
	r := w.raw()
	r.SetDeadline(time.Time{})
	r.handshake(0, 40000, 0, nil)
	return r
}

func (r *raw) create(path string) {
	r.send(int32(1), jute.OpCreate, path, []byte{}, int32(1), int32(31), worldScheme, "anyone", int32(0))
}

func TestStall(t *testing.T) {
	for _, d := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient, coordtest.Both} {
		bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
			r := w.session()
			equal(t, "before", r.answered(1), true)
			heal := w.link.Stall(d)
			more := w.link.Stall(d)
			equal(t, "stalled", r.answered(2), false)
			r.create("/root/a")
			synctest.Wait()
			equal(t, "the server has it", strings.Contains(s.Tree(), "/root/a"), d == coordtest.ToClient)
			more()
			more()
			equal(t, "still stalled", r.hears(2), false)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			if _, err := w.link.Dial(ctx, "tcp", ""); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Errorf("dial: %v after %v", err, time.Since(start))
			}
			time.AfterFunc(5*time.Second, heal)
			start = time.Now()
			second := w.session()
			equal(t, "dial waited", time.Since(start), 5*time.Second)
			equal(t, "second", second.answered(3), true)
			equal(t, "delivered in order", r.hears(2), true)
			equal(t, "delivered in order", r.hears(1), true)
			equal(t, "healed", r.answered(4), true)
		})
	}
}

// TestStallHangUp is about connections that end while the link is stalled.
func TestStallHangUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		r := w.session()
		heal := w.link.Stall(coordtest.ToServer)
		r.create("/root/lost")
		synctest.Wait()
		r.Close()
		synctest.Wait()
		heal()
		synctest.Wait()
		equal(t, "tree", s.Tree(), "/root \"\"\n")

		// Without a stall a hang-up does not overtake what was sent before.
		r = w.session()
		r.create("/root/sent")
		r.Close()
		synctest.Wait()
		equal(t, "tree", s.Tree(), "/root \"\"\n/root/sent \"\"\n")

		r = w.session()
		heal = w.link.Stall(coordtest.ToClient)
		r.create("/root/unknown")
		synctest.Wait()
		for _, id := range s.Sessions() {
			s.Expire(id)
		}
		r.SetReadDeadline(time.Now().Add(time.Minute))
		r.send(int32(7), jute.OpExists, "/root", false) // to a server that is gone
		if _, err := r.receive(); !isTimeout(err) {
			t.Errorf("stalled, but heard of the server's hang-up: %v", err)
		}
		heal()
		equal(t, "the last reply", r.hears(1), true)
		if _, err := r.receive(); err == nil || isTimeout(err) {
			t.Errorf("after it: %v", err)
		}
	})
}

func TestCut(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		r := w.session()
		heal, other := w.link.Cut(), w.link.Cut()
		if _, err := r.receive(); err == nil || isTimeout(err) {
			t.Errorf("cut: %v", err)
		}
		for _, end := range []func(){heal, heal, other} {
			if _, err := w.link.Dial(t.Context(), "tcp", ""); err == nil || !strings.Contains(err.Error(), "cut") {
				t.Errorf("dial: %v", err)
			}
			end()
		}
		equal(t, "healed", w.session().answered(1), true)
		w.link.Close()
		if _, err := w.link.Dial(t.Context(), "tcp", ""); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("dial: %v", err)
		}
	})
}

func TestReset(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		act := w.connect("act", long)
		a := w.connect("a", long)
		must(t, act.create("/root/n", nil, 0))
		a.watch("dec", "/root/n")
		a.watch("e", "/root/none")
		id := a.SessionID()
		equal(t, "watches", s.Watches(), 3)
		w.link.Reset()
		time.Sleep(5 * time.Second)
		equal(t, "watches", s.Watches(), 3)
		equal(t, "session", a.SessionID(), id)
		_, err := act.Set("/root/n", nil, -1)
		must(t, err)
		a.saw("reset")
		equal(t, "log", w.log.String(), "reset: a saw [\"DataChanged /root/n\"]\n")
	})
}

// TestActions loses each frame of a create in each way.
func TestActions(t *testing.T) {
	for _, tt := range []struct {
		dir     coordtest.Direction
		act     coordtest.Action
		created bool
		outcome string
	}{
		{coordtest.ToServer, coordtest.Pass, true, "answered"},
		{coordtest.ToServer, coordtest.Drop, false, "silence"},
		{coordtest.ToServer, coordtest.HangUp, false, "hung up"},
		{coordtest.ToServer, coordtest.PassAndHangUp, true, "hung up"},
		{coordtest.ToClient, coordtest.Pass, true, "answered"},
		{coordtest.ToClient, coordtest.Drop, true, "silence"},
		{coordtest.ToClient, coordtest.HangUp, true, "hung up"},
		{coordtest.ToClient, coordtest.PassAndHangUp, true, "answered"},
	} {
		bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
			r := w.session()
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Dir == tt.dir && f.Op == "create" && f.Path == "/root/x" {
					return tt.act
				}
				return coordtest.Pass
			})
			r.create("/root/x")
			r.SetReadDeadline(time.Now().Add(time.Second))
			outcome := "answered"
			if _, err := r.receive(); isTimeout(err) {
				outcome = "silence"
			} else if err != nil {
				outcome = err.Error()
			}
			synctest.Wait()
			equal(t, fmt.Sprint(tt, " created"), strings.Contains(s.Tree(), "/root/x"), tt.created)
			equal(t, fmt.Sprint(tt, " outcome"), outcome, tt.outcome)
			r.SetReadDeadline(time.Time{})
			if tt.act == coordtest.PassAndHangUp {
				if _, err := r.receive(); err == nil {
					t.Error("goes on after the reset")
				}
			} else if tt.act == coordtest.Drop {
				w.link.OnFrame(nil)
				equal(t, "goes on", r.answered(9), true)
			}
		})
	}
}

func TestFrames(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		l := s.Link()
		defer l.Close()
		w.link = l
		var got []string
		l.OnFrame(func(f coordtest.Frame) coordtest.Action {
			arrow := map[coordtest.Direction]string{coordtest.ToServer: ">", coordtest.ToClient: "<"}[f.Dir]
			got = append(got, fmt.Sprintf("%d%s %s %s %v", f.N, arrow, f.Op, f.Path, f.Session != 0))
			return coordtest.Pass
		})
		a := w.connect("a", 6*time.Second)
		a.watch("d", "/root")
		time.Sleep(2500 * time.Millisecond)
		_, err := a.Set("/root", nil, -1)
		must(t, err)
		_, err = a.Multi(&zk.CheckVersionRequest{Path: "/root", Version: -1})
		must(t, err)
		must(t, a.AddAuth("digest", []byte("a:b")))
		_, _, err = a.Children("/none")
		equal(t, "error", err, zk.ErrNoNode)
		a.Close()
		synctest.Wait()
		equal(t, "frames", strings.Join(got, "\n"), `1> connect  false
1< connect  true
2> getData /root true
2< getData /root true
0> ping  true
0< ping  true
3> setData /root true
3< event /root true
4< setData /root true
4> check /root true
5< check /root true
5> auth  true
6< auth  true
6> getChildren2 /none true
7< getChildren2 /none true
7> close  true
8< close  true`)
	})
}

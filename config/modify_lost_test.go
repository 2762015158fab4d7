package config_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// modifyingsLost are what Modify must do when answers are lost, or nobody waits for them.
var modifyingsLost = []guarantee{
	{"a caller that leaves while an answer is due is told that the outcome is unknown, and the next change is exact", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.Must(err)
		for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(bg)
			var heal func()
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op == "multi" && f.Dir == dir {
					w.link.OnFrame(nil)
					heal = w.link.Stall(dir)
					cancel(cause)
				}
				return coordtest.Pass
			})
			_, err := add(ctx, w.c, "/n")
			w.WantsOp(err, "modify", "/n", cause)
			w.WantsOp(err, "modify", "/n", coord.ErrUnknown)
			heal()
			_, err = add(bg, w.c, "/n")
			w.Must(err)
		}
		// What was under way has been carried out in the end: there was no fault
		// but impatience.
		if got := w.Get("/n"); got != "5" {
			w.Errorf("stored %s", got)
		}
	}},
	{"it ends with the client, and goes on in the next session (R47)", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.Must(err)
		for range 3 {
			w.Flap(w.c, func() { w.Expire(w.client) })
			_, err = add(bg, w.c, "/n")
			w.Must(err)
		}
		if w.Get("/n") != "4" {
			w.Errorf("stored %s", w.Get("/n"))
		}
		heal := w.link.Stall(coordtest.Both)
		time.AfterFunc(2*T, heal)
		_, err = add(bg, w.c, "/n")
		w.Must(err)
		w.Must(w.c.Close())
		_, err = add(bg, w.c, "/n")
		w.WantsOp(err, "modify", "/n", coord.ErrClosed)
		if errors.Is(err, coord.ErrUnknown) {
			w.Error(err)
		}
	}},
	{"a Watch started after it on the same client never shows anything older", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.Must(err)
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		for range 2 { // without another stream on the znode, and with one
			for range 100 {
				n, err := add(bg, w.c, "/n")
				w.Must(err)
				one, stop := context.WithCancel(bg)
				s := config.New(w.c, "/n", numbers).Watch(one)
				if u := <-s.Updates(); u.Value < n || u.Err != nil {
					w.Errorf("after %d was stored a new stream began with %s", n, say(u))
				}
				stop()
			}
			config.New(w.c, "/n", numbers).Watch(ctx)
			synctest.Wait()
		}
	}},
	{"a lost answer does not count twice, and a lost request counts (R60)", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.Must(err)
		want := 1
		for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			for _, action := range []coordtest.Action{coordtest.Drop, coordtest.HangUp, coordtest.PassAndHangUp} {
				met := false
				w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
					if !met && f.Op == "multi" && f.Dir == dir {
						met = true
						return action
					}
					return coordtest.Pass
				})
				n, err := add(bg, w.c, "/n")
				w.Must(err)
				if want++; n != want || w.Get("/n") != fmt.Sprint(want) {
					w.Errorf("direction %d, action %d: returned %d, stored %s, want %d", dir, action, n, w.Get("/n"), want)
				}
			}
		}
	}},
	{"what could not be sent is no doubt: if ctx ends it was not carried out, and if the session does it is sent in the next", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.Must(err)
		cuts := 1
		cutOff := func(n int) (int, error) {
			if cuts--; cuts >= 0 {
				time.AfterFunc(2*T, w.link.Cut())
				w.Await(w.c, coord.Suspended)
			}
			return n + 1, nil
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(bg, T/10, cause)
		defer cancel()
		_, err = config.New(w.c, "/n", numbers).Modify(ctx, cutOff)
		w.WantsOp(err, "modify", "/n", cause)
		if errors.Is(err, coord.ErrUnknown) || w.Get("/n") != "1" {
			w.Errorf("%v; stored %s", err, w.Get("/n"))
		}
		w.Await(w.c, coord.Connected)
		old := w.c.Kit().Session()
		cuts = 1
		n, err := config.New(w.c, "/n", numbers).Modify(bg, cutOff)
		w.Must(err)
		if n.Value != 2 || w.Get("/n") != "2" || w.c.Kit().Session() == old {
			w.Errorf("returned %+v, stored %s", n, w.Get("/n"))
		}
	}},
	{"when the client has given up the session and the ensemble has not, the outcome is known (R91)", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.Must(err)
		want := 1
		for _, x := range []struct {
			name string
			hurt func() (heal func())
		}{
			{"the request is lost", func() func() { return w.link.Stall(coordtest.ToServer) }},
			{"the answer is lost", func() func() { return w.link.Stall(coordtest.ToClient) }},
			{"the request is carried out late", w.Fake.Freeze},
		} {
			old := w.c.Kit().Session()
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				dir := coordtest.ToServer
				if x.name == "the answer is lost" {
					dir = coordtest.ToClient
				}
				if f.Op == "multi" && f.Dir == dir {
					w.link.OnFrame(nil)
					time.AfterFunc(T*3/4, x.hurt())
				}
				return coordtest.Pass
			})
			n, err := add(bg, w.c, "/n")
			w.Must(err)
			if want++; n != want || w.Get("/n") != fmt.Sprint(want) {
				w.Errorf("%s: returned %d, stored %s, want %d", x.name, n, w.Get("/n"), want)
			}
			if w.c.Kit().Session() == old {
				w.Errorf("%s: the session is the same", x.name)
			}
		}
	}},
	{"nor does it when the answer to the question what became of it is lost, too (R60)", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.Must(err)
		want := 1
		for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			lost := []string{"multi", "setData"} // the first in direction dir, the answer to the second
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if len(lost) == 2 && f.Op == lost[0] && f.Dir == dir || len(lost) == 1 && f.Op == lost[0] && f.Dir == coordtest.ToClient {
					lost = lost[1:]
					return coordtest.HangUp
				}
				return coordtest.Pass
			})
			n, err := add(bg, w.c, "/n")
			w.Must(err)
			if want++; n != want || w.Get("/n") != fmt.Sprint(want) || len(lost) > 0 {
				w.Errorf("direction %d: returned %d, stored %s, want %d; still to be lost: %v", dir, n, w.Get("/n"), want, lost)
			}
		}
	}},
	{"a new session begins with new witnesses", func(w *world) {
		for range 2 {
			multis := 0
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op == "multi" && f.Dir == coordtest.ToServer {
					multis++
				}
				return coordtest.Pass
			})
			_, err := add(bg, w.c, "/n")
			w.Must(err)
			if multis != 1 {
				w.Errorf("%d transactions for one change", multis)
			}
			w.Flap(w.c, func() { w.Expire(w.client) })
		}
	}},
	{"what became of a change is learned in the next session, too", func(w *world) {
		for i, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op != "multi" || f.Dir != dir {
					return coordtest.Pass
				}
				w.link.OnFrame(nil)
				w.Expire(w.client) // a request that is lost, or an answer
				return coordtest.HangUp
			})
			was := w.c.Kit().Session()
			n, err := add(bg, w.c, "/n")
			if w.Must(err); n != i+1 || w.Get("/n") != fmt.Sprint(n) || was.Err() == nil {
				w.Errorf("direction %d: returned %d, stored %s", dir, n, w.Get("/n"))
			}
		}
	}},
	{"witnesses that an operator deletes, changes or forbids to write are replaced or done without", func(w *world) {
		_, err := add(bg, w.c, "/n")
		w.Must(err)
		witnesses := func() string {
			names, _, err := w.op.Children("/_zkcoord")
			w.Must(err)
			return "/_zkcoord/" + names[0]
		}
		w.Delete(witnesses() + "/session")
		w.Delete(witnesses())
		_, err = add(bg, w.c, "/n")
		w.Must(err)
		w.Delete(witnesses() + "/session")
		w.reap()
		_, err = add(bg, w.c, "/n")
		w.Must(err)
		w.Set(witnesses(), "what is this?")
		_, err = add(bg, w.c, "/n")
		w.Must(err)
		for names, _, _ := w.op.Children("/_zkcoord"); len(names) > 0; names = names[1:] {
			_, err = w.op.SetACL("/_zkcoord/"+names[0], zk.WorldACL(zk.PermRead), -1)
			w.Must(err)
		}
		for range 2 {
			_, err = add(bg, w.c, "/n")
			w.Must(err)
		}
		if w.Get("/n") != "6" {
			w.Errorf("stored %s", w.Get("/n"))
		}
	}},
	{"a version of -1, which would mean any, is not sent (R38)", func(w *world) {
		w.Create("/n", "the version behind this is forged")
		c := w.DialThrough(func(conn net.Conn) net.Conn { return &harness.Tap{Conn: conn, Reply: forge} }, nil, nil).Client
		_, err := config.New(c, "/n", config.Text()).Modify(bg, func(string) (string, error) { return "new", nil })
		w.WantsOp(err, "modify", "/n", nil)
		if err == nil || !strings.Contains(err.Error(), "-1") {
			w.Errorf("got %v", err)
		}
		if w.Get("/n") == "new" {
			w.Error("stored")
		}
	}},
}

// forge makes the version -1 of what stands behind the data of a reply.
func forge(body []byte) []byte {
	const data = "the version behind this is forged"
	i := bytes.Index(body, []byte(data))
	if i < 0 {
		return body
	}
	version := i + len(data) + 4*8 // behind four numbers of 64 bits
	e := jute.NewFrame()
	e.Raw(body[:version])
	e.Int32(-1)
	e.Raw(body[version+4:])
	return e.Body()
}

package config_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
)

// watchings are what a stream must show. In each the name says what is guaranteed.
// That nothing leaks, each bubble sees to. (R36.)
var watchings = []guarantee{
	{"the first update is what is there", func(w *world) {
		w.Create("/n", "7")
		s := config.New(w.c, "/n", numbers).Watch(bg)
		u := w.expect(s, "7 v0")
		_, stat, err := w.op.Get("/n")
		w.Must(err)
		if u.Mzxid != stat.Mzxid || !u.Read.Equal(time.Now()) { // time stands still in between
			w.Errorf("update %+v, znode %+v", u, stat)
		}
		if latest, ok := s.Latest(); !ok || latest != u {
			w.Errorf("latest %+v, %v", latest, ok)
		}
		w.Set("/n", "8")
		w.expect(s, "8 v1")
		w.quiet(s)
	}},
	{"what is missing at first is said to be, and comes", func(w *world) {
		s := config.New(w.c, "/n", numbers).Watch(bg)
		u := w.expect(s, "none missing")
		w.WantsOp(u.Err, "watch", "/n", zk.ErrNoNode)
		w.Create("/n", "1")
		w.expect(s, "1 v0")
	}},
	{"what is malformed or missing does not replace what was good", func(w *world) {
		w.Create("/n", "1")
		s := config.New(w.c, "/n", numbers).Watch(bg)
		good := w.expect(s, "1 v0")
		time.Sleep(time.Second)
		w.Set("/n", "one")
		u := w.expect(s, "1 v0 malformed")
		w.WantsOp(u.Err, "watch", "/n", nil, "decode")
		if u.Mzxid != good.Mzxid || !u.Read.Equal(good.Read) {
			w.Errorf("the good value was %+v and is %+v", good, u)
		}
		w.Set("/n", "uno")
		w.expect(s, "1 v0 malformed")
		w.Delete("/n")
		w.expect(s, "1 v0 missing")
		w.Create("/n", "two")
		w.expect(s, "1 v0 malformed")
		w.Set("/n", "2")
		w.expect(s, "2 v1")
	}},
	{"what is malformed from the start has no value", func(w *world) {
		w.Create("/n", "one")
		s := config.New(w.c, "/n", numbers).Watch(bg)
		w.expect(s, "none malformed")
		w.Set("/n", "1")
		w.expect(s, "1 v1")
	}},
	{"a decoder that panics fails, and is asked again about the next value", func(w *world) {
		w.Create("/n", "panic")
		s := config.New(w.c, "/n", numbers).Watch(bg)
		u := w.expect(s, "none panicked")
		w.WantsOp(u.Err, "watch", "/n", nil, "decode")
		w.Set("/n", "1")
		w.expect(s, "1 v1")
		w.Set("/n", "panic")
		w.expect(s, "1 v1 panicked")
	}},
	{"a delete and a create that leave the version as it was are seen (R31)", func(w *world) {
		w.Create("/n", "1")
		s := config.New(w.c, "/n", numbers).Watch(bg)
		w.expect(s, "1 v0")
		_, err := w.op.Multi(&zk.DeleteRequest{Path: "/n", Version: -1},
			&zk.CreateRequest{Path: "/n", Data: []byte("2"), Acl: zk.WorldACL(zk.PermAll)})
		w.Must(err)
		w.expect(s, "2 v0")
	}},
	{"they are seen when they have happened while the link was down (R31, R37)", func(w *world) {
		w.Create("/n", "1")
		s := config.New(w.c, "/n", numbers).Watch(bg)
		first := w.expect(s, "1 v0")
		heal := w.link.Cut()
		w.Await(w.c, coord.Suspended)
		u := w.expect(s, "1 v0 suspended")
		if u.Mzxid != first.Mzxid || !u.Read.Equal(first.Read) {
			w.Errorf("was %+v and is %+v", first, u)
		}
		w.Delete("/n")
		w.Create("/n", "1") // even the same value
		heal()
		w.Await(w.c, coord.Connected)
		if u := w.expect(s, "1 v0"); u.Mzxid <= first.Mzxid {
			w.Errorf("mzxid %d after %d", u.Mzxid, first.Mzxid)
		}
	}},
	{"a blip in which nothing has changed is over without the value being decoded again", func(w *world) {
		w.Create("/n", "1")
		decodings := 0
		s := config.New(w.c, "/n", decoder(func(data []byte) (int, error) {
			decodings++
			return number(data)
		})).Watch(bg)
		w.expect(s, "1 v0")
		heal := w.link.Cut()
		w.Await(w.c, coord.Suspended)
		w.expect(s, "1 v0 suspended")
		heal()
		w.Await(w.c, coord.Connected)
		if u := w.expect(s, "1 v0"); !u.Read.Equal(time.Now()) {
			w.Errorf("read at %v, and again at %v", u.Read, time.Now())
		}
		w.Flap(w.c, w.link.Reset)
		synctest.Wait()
		if u, _ := s.Latest(); say(u) != "1 v0" || decodings != 1 {
			w.Errorf("%s after %d decodings", say(u), decodings)
		}
	}},
	{"an error stays through a blip", func(w *world) {
		s := config.New(w.c, "/n", numbers).Watch(bg)
		w.expect(s, "none missing")
		heal := w.link.Cut()
		w.Await(w.c, coord.Suspended)
		w.expect(s, "none missing suspended")
		heal()
		w.Await(w.c, coord.Connected)
		w.expect(s, "none missing")
		w.Create("/n", "one")
		w.expect(s, "none malformed")
		heal = w.link.Cut()
		w.Await(w.c, coord.Suspended)
		w.expect(s, "none malformed suspended")
		heal()
		w.Await(w.c, coord.Connected)
		w.expect(s, "none malformed")
	}},
	{"a stream that begins while the link is down says so, or nothing, until it is up (R54)", func(w *world) {
		w.Create("/n", "1")
		first := config.New(w.c, "/n", numbers).Watch(bg)
		w.expect(first, "1 v0")
		heal := w.link.Cut()
		w.Await(w.c, coord.Suspended)
		w.Set("/n", "2")
		s := config.New(w.c, "/n", numbers).Watch(bg)
		synctest.Wait()
		if u, ok := s.Latest(); ok && !u.Suspended {
			w.Errorf("knows of %s", say(u))
		}
		none := config.New(w.c, "/other", numbers).Watch(bg)
		w.quiet(none)
		heal()
		w.Await(w.c, coord.Connected)
		w.expect(s, "2 v1")
		w.expect(none, "none missing")
	}},
	{"it goes on in the next session (R52, R57)", func(w *world) {
		w.Create("/n", "1")
		s := config.New(w.c, "/n", numbers).Watch(bg)
		w.expect(s, "1 v0")
		heal := w.link.Stall(3)
		old := w.c.Kit().Session()
		<-old.Done()
		w.expect(s, "1 v0 suspended")
		w.Set("/n", "2")
		heal()
		w.Await(w.c, coord.Connected)
		w.expect(s, "2 v1")
		w.Flap(w.c, func() { w.Expire(w.client) })
		synctest.Wait()
		if u, _ := s.Latest(); say(u) != "2 v1" {
			w.Errorf("knows %s", say(u))
		}
		w.Set("/n", "3")
		w.expect(s, "3 v2")
	}},
	{"what may not be read ends the stream, at once or later", func(w *world) {
		_, err := w.op.Create("/n", []byte("1"), 0, zk.WorldACL(zk.PermAll&^zk.PermRead))
		w.Must(err)
		w.ended(config.New(w.c, "/n", numbers).Watch(bg), zk.ErrNoAuth)
		w.Create("/m", "1")
		s := config.New(w.c, "/m", numbers).Watch(bg)
		w.expect(s, "1 v0")
		_, err = w.op.SetACL("/m", zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
		w.Must(err)
		w.Set("/m", "2")
		w.link.Reset() // newer servers tell nothing of what may not be read, until they are asked
		<-s.Done()
		w.WantsOp(s.Err(), "watch", "/m", zk.ErrNoAuth)
	}},
	{"it ends with ctx, connected or not, and says why (R61)", func(w *world) {
		w.Create("/n", "1")
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(bg)
		s := config.New(w.c, "/n", numbers).Watch(ctx)
		w.expect(s, "1 v0")
		cancel(cause)
		w.ended(s, cause)
		w.ended(config.New(w.c, "/n", numbers).Watch(ctx), cause)
		w.link.Cut()
		w.Await(w.c, coord.Suspended)
		ctx, cancel = context.WithCancelCause(bg)
		s = config.New(w.c, "/n", numbers).Watch(ctx)
		began := time.Now()
		cancel(cause)
		w.ended(s, cause)
		if d := time.Since(began); d != 0 {
			w.Errorf("ended after %v", d)
		}
	}},
	{"it ends with the client (R47, R36)", func(w *world) {
		w.Create("/n", "1")
		s := config.New(w.c, "/n", numbers).Watch(bg)
		w.expect(s, "1 v0")
		w.Must(w.c.Close())
		w.ended(s, coord.ErrClosed)
		w.ended(config.New(w.c, "/n", numbers).Watch(bg), coord.ErrClosed)
	}},
	{"what cannot be right is refused at once", func(w *world) {
		for _, path := range []string{"", "n", "/n/", "//n", "/../n", "/n\x00"} {
			s := config.New(w.c, path, numbers).Watch(bg)
			<-s.Done()
			w.WantsOp(s.Err(), "watch", path, coord.ErrInvalidPath)
		}
		w.ended(config.New(w.c, "/n", config.Codec[int]{}).Watch(bg), nil)
	}},
	{"the root can be followed", func(w *world) {
		w.Set("/", "1")
		w.expect(config.New(w.c, "/", numbers).Watch(bg), "1 v1")
	}},
	{"a decoder may keep and overwrite what it is given; other streams do not notice", func(w *world) {
		w.Create("/n", "1")
		spoil := func(data []byte) ([]byte, error) {
			data[0] = 'x'
			return data, nil
		}
		for range 3 {
			s := config.New(w.c, "/n", decoder(spoil)).Watch(bg)
			synctest.Wait()
			if u, ok := s.Latest(); !ok || string(u.Value) != "x" {
				w.Errorf("spoilt: %+v", u)
			}
		}
		w.expect(config.New(w.c, "/n", numbers).Watch(bg), "1 v0")
	}},
	{"a decoder that ends its goroutine ends the stream, and no more", func(w *world) {
		w.Create("/n", "1")
		s := config.New(w.c, "/n", decoder(func([]byte) (int, error) { runtime.Goexit(); return 0, nil })).Watch(bg)
		w.ended(s, nil)
		w.Must(w.c.Close())
	}},
	{"a decoder that takes its time delays nobody else, and ends on the last value (R55)", func(w *world) {
		w.Create("/n", "0")
		slow := config.New(w.c, "/n", decoder(func(data []byte) (int, error) {
			time.Sleep(time.Minute)
			return number(data)
		})).Watch(bg)
		fast := config.New(w.c, "/n", numbers).Watch(bg)
		for i := range 9 {
			w.Set("/n", string(rune('1'+i)))
			synctest.Wait()
		}
		if u, _ := fast.Latest(); say(u) != "9 v9" {
			w.Errorf("the fast one knows %s", say(u))
		}
		time.Sleep(3 * time.Minute)
		w.expect(slow, "9 v9")
	}},
}

func TestWatch(t *testing.T) { run(t, watchings) }

package coord_test

import (
	"errors"
	"log"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/lock"
)

// A client can be used before there has been a server: what is asked of it waits, what it
// follows has no value yet, and State says when that is over.
func TestNewWaitsForNobody(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		heal := l.Cut()
		c, err := coord.New([]string{"server"}, &coord.Options{Dial: l.Dial, Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		defer c.Close()
		state, changed := c.State()
		h := lock.New(c, "/lock").Acquire(bg)
		s := c.Watch(bg, "/a", event.Data)
		created := make(chan error)
		go func() { _, err := c.Create(bg, "/a", nil, 0); created <- err }()
		time.Sleep(time.Hour) // virtual
		w.IsOpen("Acquired", h.Acquired())
		w.IsOpen("the change of the state", changed)
		if _, any := s.Latest(); any || state != coord.Connecting || h.Err() != nil {
			t.Errorf("a value: %t; state %v; hold %v", any, state, h.Err())
		}
		heal()
		must(t, h.Wait())
		must(t, <-created)
		w.IsClosed("the change of the state", changed)
		w.Eventually("the stream has a value", func() bool { snap, any := s.Latest(); return any && snap.Exists })
	})
}

// Closing a client that has never had a session leaves nothing behind, and what waits in
// it ends.
func TestNewAndClose(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		l.Cut()
		c, err := coord.New([]string{"server"}, &coord.Options{Dial: l.Dial})
		must(t, err)
		h := lock.New(c, "/lock").Acquire(bg)
		w.Within(2*time.Second, "Close", func() { must(t, c.Close()) })
		w.Wait("the end of the wait", h.Done())
		if !errors.Is(h.Err(), coord.ErrClosed) {
			t.Errorf("error %v", h.Err())
		}
	})
}

// What is wrong with its arguments New says at once.
func TestNewRefuses(t *testing.T) {
	for want, opts := range map[string]*coord.Options{
		"new: no servers given":             nil,
		"new: session timeout 1ns is not b": {SessionTimeout: 1},
	} {
		_, err := coord.New(nil, opts)
		if e := new(coord.Error); !errors.As(err, &e) || e.Op != "new" || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A client that finds no server says so after ten seconds and then each minute, with what
// is wrong with each: to the program's logger if it has given none.
func TestWaitForFirstSessionIsLogged(t *testing.T) {
	for _, given := range []bool{true, false} {
		bubble(t, func(w *world) {
			var j journal
			l, o := w.line(), coord.Options{Logger: j.logger()}
			if !given {
				defer setDefault(o.Logger)()
				o.Logger = nil
			}
			heal := l.Cut()
			o.Dial = l.Dial
			c, err := coord.New([]string{"server"}, &o)
			must(t, err)
			defer c.Close()
			said := func() int {
				return strings.Count(j.String(), `level=WARN msg="no zookeeper session yet" err="server:2181: `)
			}
			time.Sleep(9 * time.Second) // virtual, as those below
			if n := said(); n > 0 {
				t.Errorf("given %t: said in the first ten seconds", given)
			}
			time.Sleep(141 * time.Second)
			if n := said(); n != 3 {
				t.Errorf("given %t: said %d times in two minutes and a half:\n%s", given, n, &j)
			}
			heal()
			w.Await(c, coord.Connected)
			time.Sleep(time.Hour)
			if n := said(); n != 3 {
				t.Errorf("given %t: said %d times:\n%s", given, n, &j)
			}
		})
	}
}

// setDefault makes l the logger of the program until it is taken back.
func setDefault(l *slog.Logger) (takeBack func()) {
	former, out, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(l)
	return func() {
		slog.SetDefault(former)
		log.SetOutput(out) // SetDefault has changed both
		log.SetFlags(flags)
	}
}

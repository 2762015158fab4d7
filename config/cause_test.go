package config_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// causes are what a ctx may have ended with: the ensemble's answers to something
// else, as an errgroup passes them on.
var causes = []error{
	config.ErrMissing,
	&coord.Error{Op: "read", Path: "/none", Err: config.ErrMissing},
	fmt.Errorf("sibling: %w", zk.ErrNoNode),
	fmt.Errorf("sibling: %w", zk.ErrBadVersion),
	fmt.Errorf("sibling: %w", zk.ErrNodeExists),
	fmt.Errorf("sibling: %w", zk.ErrNoAuth),
}

// giveUp returns a ctx that ends with cause when a frame of op travels in
// direction dir. That is held back with what follows it, until heal.
func (w *world) giveUp(cause error, op string, dir coordtest.Direction) (ctx context.Context, heal func()) {
	ctx, cancel := context.WithCancelCause(bg)
	w.Cleanup(func() { cancel(nil) })
	heal = func() { w.Errorf("no %s was met", op) }
	w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
		if strings.HasPrefix(f.Op, op) && f.Dir == dir {
			w.link.OnFrame(nil)
			heal = w.link.Stall(dir)
			cancel(cause)
		}
		return coordtest.Pass
	})
	return ctx, func() { heal() }
}

// lose has the next transaction, or the answer to it, be lost with the connection.
func (w *world) lose(dir coordtest.Direction) {
	w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
		if f.Op == "multi" && f.Dir == dir {
			w.link.OnFrame(nil)
			return coordtest.HangUp
		}
		return coordtest.Pass
	})
}

// The cause of ctx is not the ensemble's answer, whatever it looks like: the
// outcome of a change that was given up while its answer was due is unknown.
func TestCauseIsNoAnswer(t *testing.T) {
	for _, cause := range causes {
		for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
			t.Run(fmt.Sprint(cause, " ", dir), func(t *testing.T) {
				bubble(t, func(w *world) {
					_, err := add(bg, w.c, "/n")
					w.Must(err)
					ctx, heal := w.giveUp(cause, "multi", dir)
					_, err = add(ctx, w.c, "/n")
					w.WantsOp(err, "modify", "/n", coord.ErrUnknown)
					w.WantsOp(err, "modify", "/n", cause)
					heal()
					n, err := add(bg, w.c, "/n") // the first is carried out in the end: nothing was lost
					if w.Must(err); n != 3 || w.Get("/n") != "3" {
						t.Errorf("then returned %d and stored %s", n, w.Get("/n"))
					}

					ctx, heal = w.giveUp(cause, "multi", dir)
					err = published(ctx, config.NewTree(w.c, "/p", numbers), map[string]int{"a": 1})
					w.WantsOp(err, "publish", "/p", coord.ErrUnknown)
					heal()
				})
			})
		}
	}
}

// A change that was given up so leaves no doubt about the next one, also of another
// value, when the answer to that is lost: it is carried out once. (R60.)
func TestCauseLeavesNextExact(t *testing.T) {
	for _, lost := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
		bubble(t, func(w *world) {
			_, err := add(bg, w.c, "/n")
			w.Must(err)
			ctx, heal := w.giveUp(config.ErrMissing, "multi", coordtest.ToClient)
			_, err = add(ctx, w.c, "/n")
			w.WantsOp(err, "modify", "/n", coord.ErrUnknown)
			heal()
			time.Sleep(T / 4) // of the bubble: the answer that nobody waits for is in
			w.lose(lost)
			n, err := add(bg, w.c, "/m")
			if w.Must(err); n != 1 || w.Get("/m") != "1" || w.Get("/n") != "2" {
				t.Errorf("direction %d: returned %d, stored %s, and %s before", lost, n, w.Get("/m"), w.Get("/n"))
			}
		})
	}
}

// Nor does a ctx that ends with a word of refusal while a witness is made mean that
// the ensemble refuses witnesses: a lost answer is made good afterwards.
func TestCauseForbidsNoWitnesses(t *testing.T) {
	for _, cause := range causes {
		bubble(t, func(w *world) {
			w.Create("/n", "5")
			ctx, heal := w.giveUp(cause, "create", coordtest.ToServer)
			_, err := add(ctx, w.c, "/n")
			w.WantsOp(err, "modify", "/n", cause)
			if errors.Is(err, coord.ErrUnknown) {
				t.Errorf("%v: unknown, though the change was not sent: %v", cause, err)
			}
			heal()
			for want := 6; want <= 7; want++ {
				w.lose(coordtest.ToClient)
				n, err := add(bg, w.c, "/n")
				if w.Must(err); n != want || w.Get("/n") != fmt.Sprint(want) {
					t.Errorf("%v: returned %d, stored %s, want %d", cause, n, w.Get("/n"), want)
				}
			}
		})
	}
}

// A value is not missing because a ctx has ended that says so of another: Read does
// not say it, and Modify does not begin with the zero value.
func TestCauseIsNotMissing(t *testing.T) {
	for _, op := range []string{"sync", "getData"} {
		bubble(t, func(w *world) {
			w.Create("/n", "5")
			cause := fmt.Errorf("sibling: %w", zk.ErrNoNode)
			ctx, heal := w.giveUp(cause, op, coordtest.ToServer)
			u, err := config.New(w.c, "/n", numbers).Read(ctx)
			w.WantsOp(err, "read", "/n", cause)
			if errors.Is(err, config.ErrMissing) || u.Err != err {
				t.Errorf("%s: got %+v, %v", op, u, err)
			}
			heal()
		})
	}
	bubble(t, func(w *world) {
		w.Create("/n", "5")
		for _, cause := range causes {
			ctx, heal := w.giveUp(cause, "getData", coordtest.ToServer)
			_, err := config.New(w.c, "/n", numbers).Modify(ctx, func(n int) (int, error) {
				t.Errorf("%v: change of %d", cause, n)
				return n + 1, nil
			})
			w.WantsOp(err, "modify", "/n", cause)
			if errors.Is(err, coord.ErrUnknown) {
				t.Errorf("unknown, though nothing was changed: %v", err)
			}
			heal()
		}
		if w.Get("/n") != "5" {
			t.Errorf("stored %s", w.Get("/n"))
		}
	})
}

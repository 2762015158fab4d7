package coord_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A function that ends its goroutine, as FailNow of a test does, is not called again
// by those that repeat it, and takes nothing with it: as many as there are slots and
// more leave the session fit for use, and Close returns.
func TestFunctionThatDoesNotReturn(t *testing.T) {
	for name, call := range map[string]func(*coord.Client, func() error){
		"Session.Retry": func(c *coord.Client, f func() error) { _ = c.Kit().Session().Retry(bg, f) },
		"Kit.Retry": func(c *coord.Client, f func() error) {
			_ = c.Kit().Retry(bg, func(*coord.Session) error { return f() })
		},
		"InDir": func(c *coord.Client, f func() error) { _ = c.Kit().Session().InDir(bg, "/", f) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				c := w.client(w.line(), coord.Options{})
				for range 20 {
					var called int
					w.Within(soon, name, func() {
						done := make(chan struct{})
						go func() {
							defer close(done)
							call(c, func() error {
								called++
								if _, err := c.Kit().Session().Exists(bg, "/"); err != nil {
									t.Error(err)
								}
								runtime.Goexit()
								return nil
							})
							t.Error("has returned")
						}()
						<-done
					})
					if called != 1 {
						t.Errorf("called %d times", called)
					}
				}
				_, err := c.Kit().Session().Exists(bg, "/")
				must(t, err)
				w.Within(soon, "Close", func() { must(t, c.Close()) })
			})
		})
	}
}

// A function of the program that a client calls may end its goroutine as well: the attempt to
// dial has failed, the hold is over, and what is traced later is traced.
func TestHooksThatDoNotReturn(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		var dialed bool
		var traced []string
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if !dialed {
					dialed = true
					runtime.Goexit()
				}
				return l.Dial(ctx, network, addr)
			},
			Trace: &coord.Trace{
				DialFailed: func(context.Context, coord.SessionInfo) { traced = append(traced, "failed"); runtime.Goexit() },
				Connected:  func(context.Context, coord.SessionInfo) { traced = append(traced, "connected"); runtime.Goexit() },
				HoldDone:   func(context.Context, coord.HoldInfo) { traced = append(traced, "done"); runtime.Goexit() },
			},
		})
		must(t, err)
		h := c.Kit().NewHold(bg, "hold", "/a", func(*coord.Keeper) error { runtime.Goexit(); return nil })
		w.Within(0, "hold", func() { <-h.Done() })
		if err := h.Err(); err == nil || !strings.Contains(err.Error(), "ended its goroutine") {
			t.Errorf("hold: %v", err)
		}
		w.Within(soon, "Close", func() { must(t, c.Close()) })
		if want := []string{"failed", "connected", "done"}; !slices.Equal(traced, want) {
			t.Errorf("traced %q, want %q", traced, want)
		}
	})
}

// A panic of a recipe's function ends the program, and is told as what it is.
func TestPanicInRecipe(t *testing.T) {
	const env = "COORD_TEST_PANIC"
	if os.Getenv(env) != "" {
		s, err := coordtest.Start()
		must(t, err)
		c, err := coord.Dial(bg, []string{s.Addr()}, nil)
		must(t, err)
		<-c.Kit().NewHold(bg, "hold", "/a", func(*coord.Keeper) error { panic("at the disco") }).Done()
		return
	}
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPanicInRecipe$")
	cmd.Env = append(os.Environ(), env+"=1")
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || !strings.Contains(string(out), "panic: at the disco") {
		t.Errorf("%v, output\n%s", err, out)
	}
}

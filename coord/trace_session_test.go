package coord_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

// What is told of a session is what happens to it: when the connection is lost and the
// session resumed, a suspension has an end without an error, and lasts as long as it
// took; when the session is lost, it has one with the cause, and so has the session,
// which lasted since it was opened. The context is that of Dial.
func TestTraceOfSessions(t *testing.T) {
	bubble(t, func(w *world) {
		var mu sync.Mutex
		var said []string
		say := func(what string) func(context.Context, coord.SessionInfo) {
			return func(ctx context.Context, i coord.SessionInfo) {
				mu.Lock()
				defer mu.Unlock()
				if ctx.Value(number{}) != "dial" || ctx.Err() != nil || i.Server != "server:2181" || i.ID != 0 && i.Timeout != 10*time.Second {
					t.Errorf("%s: %v, %+v", what, ctx, i)
				}
				line := fmt.Sprintf("%s session %d", what, i.ID&0xff)
				for _, about := range []time.Duration{2500 * time.Millisecond, 5500 * time.Millisecond, 28 * time.Second} {
					if off := i.End.Sub(i.Begin) - about; off.Abs() <= time.Second {
						line += fmt.Sprint(" after about ", about)
					}
				}
				if errors.Is(i.Err, coord.ErrExpired) {
					line += " expired"
				} else if i.Err != nil {
					line += " error"
				}
				if len(said) == 0 || said[len(said)-1] != line {
					said = append(said, line)
				}
			}
		}
		l := w.line()
		ctx, cancel := context.WithCancel(context.WithValue(bg, number{}, "dial"))
		c, err := coord.Dial(ctx, []string{"server"}, &coord.Options{Dial: l.Dial, Trace: &coord.Trace{
			DialFailed: say("failed"), Connected: say("connected"), Expired: say("expired"),
			SuspendBegin: say("suspended"), SuspendEnd: say("unsuspended"),
		}})
		must(t, err)
		defer c.Close()
		cancel() // which matters no more
		time.Sleep(10 * time.Second)
		heal := l.Cut()
		w.Await(c, coord.Suspended)
		time.Sleep(2 * time.Second)
		heal()
		w.Await(c, coord.Connected)
		time.Sleep(10 * time.Second)
		l.Cut()
		w.Await(c, coord.Suspended)
		<-c.Expired()
		must(t, c.Close())
		want := []string{
			"connected session 1",
			"suspended session 1",
			"failed session 0 error",
			"unsuspended session 1 after about 2.5s",
			"connected session 1",
			"suspended session 1",
			"failed session 0 error",
			"unsuspended session 1 after about 5.5s expired",
			"expired session 1 after about 28s expired",
		}
		if got := strings.Join(said, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("told\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

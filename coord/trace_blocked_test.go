package coord_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

// R55: a logger or a trace function that blocks stalls nothing but Close, and
// all is told in order.
func TestBlockingTraceStallsNothing(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		var h history
		trace := h.trace()
		open := make(chan struct{})
		trace.HoldBegin = func(_ context.Context, i coord.HoldInfo) {
			h.add(0, "acquired %s %s %v", i.Op, i.Path, i.Token > 0)
		}
		trace.HoldEnd = func(_ context.Context, i coord.HoldInfo) { h.add(0, "lost %v", errors.Is(i.Err, coord.ErrExpired)) }
		trace.HoldDone = func(_ context.Context, i coord.HoldInfo) { h.add(0, "done %v", errors.Is(i.Err, coord.ErrExpired)) }
		trace.DialFailed = func(_ context.Context, i coord.SessionInfo) { h.add(0, "failed %s", i.Server); <-open }
		c := w.client(l, coord.Options{Trace: trace, Logger: slog.New(slog.NewTextHandler(blocked(open), nil))})
		hold := take(c, "/lock", nil)
		must(t, hold.Wait())
		heal := l.Cut()
		<-hold.Lost()
		<-hold.Done()
		heal()
		w.Within(10*time.Second, "reconnect", func() { w.Await(c, coord.Connected) })
		must(t, within(w, func() error { _, _, err := c.Exists(bg, "/"); return err }))
		synctest.Wait()
		time.AfterFunc(time.Minute, func() { close(open) })
		start := time.Now()
		c.Close()
		if time.Since(start) < time.Minute {
			t.Error("Close has not waited for what is to be told")
		}
		said := strings.Join(h.said, ", ")
		for range 100 {
			said = strings.ReplaceAll(said, "failed server:2181, failed", "failed")
		}
		if want := "connected, acquired take /lock true, suspended, failed server:2181, lost true, expired, done true, connected"; said != want &&
			said != strings.Replace(want, "expired, done true", "done true, expired", 1) {
			t.Errorf("was told %s\nwant %s", said, want)
		}
	})
}

type blocked chan struct{}

func (b blocked) Write(p []byte) (int, error) {
	<-b
	return len(p), nil
}

package coord_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock"
)

// A log can be searched for the sessions that ZooKeeper's own logs speak of. Each
// line says what it is about, and carries the context of what it belongs to.
func TestLog(t *testing.T) {
	bubble(t, func(w *world) {
		var j journal
		l := w.line()
		c := w.client(l, coord.Options{Logger: slog.New(valued{slog.NewTextHandler(&j, &slog.HandlerOptions{Level: slog.LevelDebug})})})
		id := fmt.Sprintf("session=%#x", uint64(c.Kit().Session().ID()))
		h := lock.New(c, "/lock").Acquire(context.WithValue(bg, number{}, 7))
		must(t, h.Wait())
		heal := l.Cut()
		<-h.Done()
		heal()
		w.Await(c, coord.Connected)
		next := fmt.Sprintf("session=%#x", uint64(c.Kit().Session().ID()))
		c.Close()
		var lines []string
		for line := range strings.Lines(j.String()) {
			_, line, _ = strings.Cut(strings.TrimSpace(line), "level=")
			if !strings.Contains(line, "go-zookeeper") && !strings.Contains(line, "no session from zookeeper server") {
				lines = append(lines, line)
			}
		}
		want := []string{
			`INFO msg="zookeeper connected" server=server:2181 ` + id,
			`DEBUG msg="zookeeper hold acquired" op=acquire path=/lock hold=`,
			`WARN msg="zookeeper connection lost" server=server:2181 ` + id,
			`WARN msg="zookeeper hold lost" op=acquire path=/lock hold=`,
			`WARN msg="zookeeper session lost" server=server:2181 ` + id,
			`DEBUG msg="zookeeper hold done" op=acquire path=/lock hold=`,
			`INFO msg="zookeeper connected" server=server:2181 ` + next,
		}
		slices.Sort(lines) // two goroutines end a hold and a session
		slices.Sort(want)
		if !slices.EqualFunc(lines, want, strings.HasPrefix) {
			t.Errorf("logged\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
		for _, line := range lines {
			if strings.Contains(line, "zookeeper hold") != strings.HasSuffix(line, " number=7") {
				t.Errorf("context of %s", line)
			}
		}
	})
}

// A valued handler logs a value of the context, as those do that know of spans.
type valued struct{ slog.Handler }

func (v valued) Handle(ctx context.Context, r slog.Record) error {
	if n := ctx.Value(number{}); n != nil {
		r.Add("number", n)
	}
	return v.Handler.Handle(ctx, r)
}

// A journal is a place for logs.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

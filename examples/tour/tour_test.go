package main

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plot is what must be told, in this order, whatever comes between.
var plot = []string{
	"ada ACQUIRED",
	"cleo leaves",
	"ada releases",
	"ben ACQUIRED",
	"ben connected",
	"ben LOST",
	"dan ACQUIRED",
	"ben refused",
	"ben refused",
	"dan releases",
	"ben ACQUIRED",
	"ben releases",
	"ada READING",
	"ben READING",
	"ada releases",
	"ben releases",
	"cleo WRITING",
	"cleo downgrades",
	"dan READING",
	"cleo releases",
	"dan releases",
	"ada WRITING",
	"ada releases",
	"ada LEADS",
	"ada resigns",
	"ben LEADS",
	"ben resigns",
	"ada PERMITTED",
	"ben PERMITTED",
	"ada releases",
	"dan PERMITTED",
	"ben releases",
	"dan releases",
}

var (
	told = regexp.MustCompile(`(?m)^ *\d+  (\w+) +(ACQUIRED|leaves|releases|connected|LOST|refused|READING|WRITING|downgrades|LEADS|resigns|PERMITTED) `)
	text = regexp.MustCompile(`\A[\n -~]*\z`)
)

func check(t *testing.T, out string) {
	t.Helper()
	var got []string
	for _, m := range told.FindAllStringSubmatch(out, -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if !slices.Equal(got, plot) {
		t.Errorf("told %q, want %q", got, plot)
	}
	if !text.MatchString(out) {
		t.Error("not plain ASCII")
	}
	for _, want := range []string{
		`cleo  leaves +cleo had enough\n`,
		`dan   waits +behind ben\n`,
		`ben   ACQUIRED +token \d+, [\d.]+ ms after ada let go\n`,
		`dan   ACQUIRED +token \d+, [\d.]+ ms after ben was told LOST\n`,
		`ben   READING +token \d+, together with ada\n`,
		`cleo  waits +behind ben\n`,
		`dan   waits +behind cleo\n`,
		`dan   READING +token \d+, together with cleo\n`,
		`\.\.\. waiting for the server to end ben's session`,
		`dan   sets +/pace to 200 ms\n`,
		`ben   adjusts +to a piece of work each 200ms, in the same select\n`,
		`fay   sees +ada ben cleo dan eve\n`,
		`fay   sees +ada ben dan eve, and no longer cleo\n`,
		`fay   sees .*and no longer .*eve\n`,
		`fay   sees +ada ben dan\n`,
		`fay   sees +ada ben cleo dan\n`,
		`fay   finds +the service at ada:8080, token \d+\n`,
		`fay   finds +the service at ben:8080, token \d+\n`,
		`dan   PERMITTED +token \d+, 2 of 2 in use\n`,
		`All as promised, in [\d.]+ s\. LOST came [\d.]+ ms before the next ACQUIRED\.\n\z`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("not told: %s", want)
		}
	}
	for line := range strings.Lines(out) {
		if len(line) > 80 { // with the newline
			t.Errorf("too wide for a terminal: %s", line)
		}
	}
	if t.Failed() {
		t.Logf("told:\n%s", out)
	}
}

func TestTour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := coordtest.NewServer(t)
		var out bytes.Buffer
		tour := &tour{out: &out, servers: []string{"server"}, where: "in this process", root: "/a/b", dial: server.Dial}
		start := time.Now()
		if err := tour.run(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		check(t, out.String())
		empty(t, server)
	})
}

// A listener calls enough when it has heard so many lines.
type listener struct {
	bytes.Buffer
	lines  int
	enough func()
}

func (l *listener) Write(p []byte) (int, error) {
	before := l.lines
	if l.lines -= bytes.Count(p, []byte("\n")); before > 0 && l.lines <= 0 {
		l.enough()
	}
	return l.Buffer.Write(p)
}

// Whenever a tour is broken off, after any of its lines, it says why, ends soon, and leaves
// nothing behind.
func TestInterrupt(t *testing.T) {
	interrupt := errors.New("interrupt")
	told := "" // by the last tour that was broken off
	for lines, over := 1, false; !over; lines++ {
		synctest.Test(t, func(t *testing.T) {
			server := coordtest.NewServer(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			interrupted := make(chan time.Time, 1)
			out := &listener{lines: lines, enough: func() {
				time.AfterFunc(time.Duration(lines%3)*20*time.Millisecond, func() {
					interrupted <- time.Now()
					cancel(interrupt)
				})
			}}
			tour := &tour{out: out, servers: []string{"server"}, root: "/zkcoord-tour", dial: server.Dial}
			switch err := tour.run(ctx); {
			case err == nil:
				over = true
			case !errors.Is(err, interrupt):
				t.Errorf("interrupted after line %d: %v\n%s", lines, err, out.String())
			default:
				told = out.String()
				if took := time.Since(<-interrupted); took > 5*time.Second {
					t.Errorf("interrupted after line %d, it ended after %v", lines, took)
				}
			}
			empty(t, server)
		})
	}
	if !strings.Contains(told, "PERMITTED") {
		t.Errorf("the last one that was interrupted told no more than this:\n%s", told)
	}
}

func empty(t *testing.T, server *coordtest.Server) {
	t.Helper()
	if tree := server.Tree(); strings.TrimSpace(tree) != "" && strings.TrimSpace(tree) != "/" {
		t.Errorf("left behind:\n%s", tree)
	}
}

func TestTourOnRealServer(t *testing.T) {
	e := ensemble.New(t, nil)
	var out bytes.Buffer
	tour := &tour{out: &out, servers: e.Servers(), where: "real", root: "/zkcoord-tour"}
	if err := tour.run(t.Context()); err != nil {
		t.Error(err)
	}
	check(t, out.String())
	t.Logf("told:\n%s", out.String())

	c, err := coord.Dial(t.Context(), e.Servers(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for snap := range c.Watch(t.Context(), "/", event.Children).All() {
		if !slices.Equal(snap.Children, []string{"zookeeper"}) {
			t.Errorf("left behind: %q", snap.Children)
		}
		break
	}
}

// The tour would say so if the lock were not kept.
func TestStoryNotices(t *testing.T) {
	var out bytes.Buffer
	overlap := newStory(&out, false)
	overlap.acquired("ada", 1)
	overlap.acquired("ben", 2)
	if err := overlap.failure(); err == nil || !strings.Contains(err.Error(), "at the same time") {
		t.Errorf("two holders: %v", err)
	}
	shared := newStory(&out, false)
	shared.enter("ada", false, 1)
	shared.enter("ben", false, 2)
	if err := shared.failure(); err != nil {
		t.Errorf("two readers: %v", err)
	}
	shared.enter("cleo", true, 3)
	if err := shared.failure(); err == nil || !strings.Contains(err.Error(), "at the same time") {
		t.Errorf("a writer beside readers: %v", err)
	}
	many := newStory(&out, false)
	for _, who := range []string{"ada", "ben", "cleo"} {
		if err := many.failure(); err != nil {
			t.Errorf("two permits: %v", err)
		}
		many.admit(who, 1)
	}
	if err := many.failure(); err == nil || !strings.Contains(err.Error(), "there are 3") {
		t.Errorf("three permits of two: %v", err)
	}
	order := newStory(&out, false)
	order.acquired("ada", 2)
	order.say("ada", releases, "")
	order.acquired("ben", 1)
	if err := order.failure(); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("tokens out of order: %v", err)
	}
}

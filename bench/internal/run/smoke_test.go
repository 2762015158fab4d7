package run

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/bench/internal/client"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// The test binary is the clients, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "client" {
		client.Main(os.Args[2:])
	}
	os.Exit(m.Run())
}

// need ends the test where there is no server.
func need(t *testing.T) {
	t.Helper()
	if err := ensemble.Available(); err != nil && os.Getenv("REQUIRE_ZOOKEEPER") == "" {
		t.Skip(err)
	}
}

// measured runs all clients of a plan once, for a moment.
func measured(t *testing.T, p Plan) *bench {
	t.Helper()
	need(t)
	dir := t.TempDir()
	b := &bench{Options: Options{Plan: p, Rounds: 1, Self: []string{os.Args[0]}}, rows: p.Rows(), results: machine(), commands: make(map[string][]string)}
	for i := range b.rows {
		b.rows[i].flags.Warm = 50 * time.Millisecond
	}
	b.find(t.Context(), dir)
	b.narrow()
	b.progress = progress{out: t.Output(), begun: time.Now(), total: b.runs()}
	if err := b.round(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, missing := range b.results.Missing {
		t.Log("missing:", missing)
	}
	for _, failure := range b.results.Failures {
		t.Error(failure)
	}
	if len(b.results.Runs) != b.runs() {
		t.Errorf("%d runs, want %d", len(b.results.Runs), b.runs())
	}
	return b
}

// Each workload runs to its end with each client that can do it, and all that the
// tables show of it is there.
func TestSmoke(t *testing.T) {
	b := measured(t, Plan{Full: true, Sizes: []int{3}, Measure: time.Second})
	want := map[string][]string{
		"cycle":    {"rate", "cycle_p50", "cycle_p99", "client_cpu", "server_cpu", "requests", "bytes_out", "disk"},
		"handover": {"rate", "hand_p50", "hand_p99", "client_cpu", "server_cpu", "requests", "bytes_out", "disk", "session_rss", "waiting_rss"},
		"shared":   {"rate", "writes", "read_p50", "write_p99", "requests"},
		"queue":    {"queue_s", "drain_s", "heap_kb", "stack_kb", "goroutines", "requests", "lost"},
		"recovery": {"secs", "sent", "received", "lost", "missed"},
		"fanout":   {"subscribe_s", "change_p50", "requests", "bytes_out"},
		"settings": {"change_p50", "change_p99", "missed"},
		"group":    {"change_p50", "requests", "bytes_out"},
		"tree":     {"change_p50", "requests", "bytes_out"},
		"lease":    {"requests", "server_cpu", "disk"},
	}
	for _, run := range b.results.Runs {
		workload, _, _ := strings.Cut(run.Row, "/")
		for _, metric := range want[workload] {
			if _, ok := run.Metrics[metric]; !ok {
				t.Errorf("%s %s: no %s", run.Row, run.Peer, metric)
			}
		}
		if run.Metrics["lost"] != 0 || run.Metrics["missed"] != 0 {
			t.Errorf("%s %s: %v", run.Row, run.Peer, run.Metrics)
		}
	}
	// Over a way that delays, a cycle of the floor takes two round trips.
	i := slices.IndexFunc(b.rows, func(r Row) bool { return r.roundTrip > 0 })
	least := float64(2 * b.rows[i].roundTrip.Microseconds())
	if p50 := b.results.Value(b.rows[i].Row, "floor", "cycle_p50").Median; p50 < least {
		t.Errorf("%s: a cycle took %v µs, at least %v were to be expected", b.rows[i].Name, p50, least)
	}
}

// A benchmark that is interrupted keeps what it has measured, and leaves no server.
func TestInterrupted(t *testing.T) {
	need(t)
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	log := writerFunc(func(b []byte) (int, error) {
		cancel(interrupted) // after the first run
		return len(b), nil
	})
	o := Options{Plan: Plan{Workloads: []string{"cycle"}, Peers: []string{"floor"}}, Rounds: 100, Self: []string{os.Args[0]}, Log: log}
	r, err := Run(ctx, o)
	if !errors.Is(err, interrupted) || len(r.Runs) != 1 {
		t.Errorf("%d runs, %v", len(r.Runs), err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

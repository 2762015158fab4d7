package run

import (
	"fmt"
	"io"
	"time"

	"github.com/zkcoord/zkcoord/bench/internal/report"
)

// A progress tells how far the benchmark has come.
type progress struct {
	out   io.Writer
	begun time.Time
	limit time.Duration
	total int // runs
	count int
}

// done says what has become of a run, and how much time is left.
func (p *progress) done(run report.Run, err error, took time.Duration) {
	p.count++
	left := time.Since(p.begun) / time.Duration(p.count) * time.Duration(p.total-p.count)
	if p.limit > 0 {
		left = min(left, p.limit-time.Since(p.begun))
	}
	fmt.Fprintf(p.out, "%d of %d, %v left: %-24s %-8s ", p.count, p.total, max(left, 0).Round(time.Second), run.Row, run.Peer)
	if err != nil {
		fmt.Fprintf(p.out, "failed: %v\n", err)
		return
	}
	fmt.Fprintf(p.out, "%9.1f/s", run.Metrics["rate"])
	for _, name := range []string{"hand_p50", "cycle_p50", "change_p50", "read_p50"} {
		if v, ok := run.Metrics[name]; ok {
			fmt.Fprintf(p.out, ", p50 %.0f µs", v)
		}
	}
	if run.Others > report.Alone {
		fmt.Fprintf(p.out, ", beside %.1f CPUs of others", run.Others)
	}
	fmt.Fprintf(p.out, " (%v)\n", took.Round(100*time.Millisecond))
}

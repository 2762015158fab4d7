package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// A metric is what is measured, and how much more of it in the end is no growth.
type metric struct {
	name   string
	ratio  float64 // of the value
	slack  float64 // and besides
	server string  // its name in the answer to mntr; the sum of all servers counts. "" if it is the process's
	shared bool    // all servers have the same
}

// metrics are all that are measured, in the order of [sample.values].
var metrics = [...]metric{
	{name: "memory, MB", ratio: .10, slack: 10},
	{name: "heap, MB", ratio: .10, slack: 1},
	{name: "goroutines", ratio: .01, slack: 5}, // of connections that are being replaced
	{name: "file descriptors", ratio: .01, slack: 3},
	{name: "watches", ratio: .02, slack: 10, server: "zk_watch_count"},              // of streams that are over, which stay until they fire
	{name: "znodes", ratio: .01, slack: 30, server: "zk_znode_count", shared: true}, // containers that are not removed yet
	// A client has up to 16 below /_zkcoord, more when changes had to wait for a leader. What was
	// created without an answer stays as well, until its session ends.
	{name: "ephemeral znodes", ratio: .01, slack: 15, server: "zk_ephemerals_count", shared: true},
	{name: "connections", ratio: .01, slack: 3, server: "zk_num_alive_connections"},
}

const heap = 1 // index in metrics

// A sample is what was measured at one time. What is not known is not a number.
type sample struct {
	at     time.Duration
	note   string // the fault that is in force, "rest", or ""
	values [len(metrics)]float64
}

// A sampler takes samples.
type sampler struct {
	servers *ensemble.Ensemble
	began   time.Time
	samples []sample // with room for all, so that they do not look like growth
}

func newSampler(e *ensemble.Ensemble, length time.Duration) *sampler {
	return &sampler{servers: e, began: time.Now(), samples: make([]sample, 0, 2*int(length/time.Second)+1000)}
}

// sleep takes a sample every second for the time given, or until ctx ends.
func (s *sampler) sleep(ctx context.Context, d time.Duration, note string) {
	if d <= 0 {
		return
	}
	over := time.After(d)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if note != "rest" {
				s.take(note)
			}
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// rest takes a sample of what is there when nobody needs it any more.
func (s *sampler) rest() {
	runtime.GC()
	debug.FreeOSMemory()
	s.take("rest")
}

func (s *sampler) take(note string) {
	x := sample{at: time.Since(s.began), note: note}
	for i := range x.values {
		x.values[i] = math.NaN()
	}
	x.values[0], x.values[3] = memory(), descriptors()
	x.values[2] = float64(runtime.NumGoroutine())
	if note == "rest" {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		x.values[heap] = float64(m.HeapAlloc) / 1e6
	}
	s.ask(&x)
	s.samples = append(s.samples, x)
}

// ask adds up what the servers say, if all answer.
func (s *sampler) ask(x *sample) {
	nodes := s.servers.Nodes()
	answers := make([]map[string]float64, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			if text, err := n.Command("mntr"); err == nil {
				answers[i] = parse(text)
			}
		})
	}
	wg.Wait()
	for i, m := range metrics {
		if m.server == "" {
			continue
		}
		x.values[i] = 0
		for _, a := range answers {
			v, ok := a[m.server]
			if !ok {
				v = math.NaN() // and so the sum
			}
			if m.shared {
				x.values[i] = max(x.values[i], v) // NaN if one of them is
			} else {
				x.values[i] += v
			}
		}
	}
}

// parse reads an answer to mntr: lines of a name, a tab and a value.
func parse(text string) map[string]float64 {
	values := make(map[string]float64)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = v
		}
	}
	return values
}

// writeCSV writes all samples.
func (s *sampler) writeCSV(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	head := []string{"seconds", "note"}
	for _, m := range metrics {
		head = append(head, m.name)
	}
	err = w.Write(head)
	for _, x := range s.samples {
		row := []string{fmt.Sprintf("%.1f", x.at.Seconds()), x.note}
		for _, v := range x.values {
			cell := ""
			if !math.IsNaN(v) {
				cell = strconv.FormatFloat(v, 'f', -1, 64)
			}
			row = append(row, cell)
		}
		err = errors.Join(err, w.Write(row))
	}
	w.Flush()
	return errors.Join(err, w.Error(), f.Close())
}

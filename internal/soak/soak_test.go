package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// samplesOf returns samples of n periods, of which value says what one metric is in period i, out
// of n; the other metrics stay as they are.
func samplesOf(n, metric int, value func(i int) float64) (all []sample) {
	for i := range n {
		for k := range 10 {
			x := sample{at: time.Duration(i*60+k) * time.Second}
			for m := range x.values {
				x.values[m] = 100
			}
			x.values[metric] = value(i)
			switch {
			case k == 3:
				x.note, x.values[metric] = "a fault", 1000 // what is not at rest does not count
			case k > 6:
				x.note = "rest"
			}
			all = append(all, x)
		}
	}
	return all
}

// What grows steadily is found, in each metric; noise, and what grows at first, is not taken
// for growth.
func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		value  func(i int) float64
	}{
		{"flat", 0, func(int) float64 { return 100 }},
		{"grows", 1, func(i int) float64 { return 100 + 10*float64(i) }},
		{"grows late", 1, func(i int) float64 { return 100 + float64(max(0, i-5))*20 }},
		{"warms up", 0, func(i int) float64 { return 100 * min(1, float64(i)/3) }},
		{"falls", 0, func(i int) float64 { return 100 - float64(i) }},
		{"has an outlier", 0, func(i int) float64 { return map[bool]float64{i == 10: 500, i != 10: 100}[true] }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, m := range metrics {
				var b bytes.Buffer
				if status := verdict(&b, samplesOf(12, i, tt.value), nil); status != tt.status {
					t.Errorf("%s: status %d, want %d\n%s", m.name, status, tt.status, &b)
				}
			}
		})
	}
}

// Too few samples, and values that are not known, are no verdict; work that is not done
// is a bad one.
func TestNoVerdict(t *testing.T) {
	flat := func(int) float64 { return 100 }
	if status := verdict(io.Discard, samplesOf(6, 0, flat), nil); status != 2 {
		t.Errorf("status %d of a short run, want 2", status)
	}
	if status := verdict(io.Discard, samplesOf(12, 0, func(int) float64 { return math.NaN() }), nil); status != 2 {
		t.Errorf("status %d of what is not known, want 2", status)
	}
	var b bytes.Buffer
	if status := verdict(&b, samplesOf(12, 0, flat), []string{"write"}); status != 1 || !strings.Contains(b.String(), "write") {
		t.Errorf("status %d of what does not work, want 1\n%s", status, &b)
	}
}

// The picture is well-formed, and has a panel for each metric and what is not known left out.
func TestPlot(t *testing.T) {
	samples := samplesOf(12, 4, func(i int) float64 { return map[bool]float64{true: math.NaN(), false: 100}[i == 5] })
	for _, of := range [][]sample{samples, nil} {
		svg := plot(of)
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range metrics {
			if !bytes.Contains(svg, []byte(">"+m.name+"<")) {
				t.Errorf("no panel of %s", m.name)
			}
		}
		if bytes.Contains(svg, []byte("NaN")) {
			t.Error("what is not known is drawn")
		}
	}
	if n := strings.Count(string(plot(samples)), "<circle"); n != 12*3*len(metrics)-3 {
		t.Errorf("%d samples at rest", n)
	}
}

// The file of samples has a line for each, and nothing where a value is not known.
func TestCSV(t *testing.T) {
	s := &sampler{samples: []sample{{at: 1500 * time.Millisecond, note: "rest"}}}
	s.samples[0].values[1] = math.NaN()
	name := filepath.Join(t.TempDir(), "samples.csv")
	if err := s.writeCSV(name); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(string(text), "\n"); len(lines) != 3 || lines[1] != "1.5,rest,0,,0,0,0,0,0,0" {
		t.Errorf("%q", lines)
	}
}

// Each kind of work can be done, and leaves no more watches the fifth time than the first.
func TestJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := coordtest.NewServer(t)
		r, err := newRig(t.Context(), []string{"coordtest:2181"}, 3, server.Link)
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		for _, s := range r.stations {
			s.follow(t.Context())
		}
		keys := make(map[string]string)
		for i := range treeKeys {
			keys[key(i)] = "there"
		}
		if _, err := config.NewTree(r.station(0).client(), "/tree", config.Text()).Publish(t.Context(), keys, nil); err != nil {
			t.Fatal(err)
		}
		var before int
		for round := range 5 {
			for _, x := range jobs {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				if err := x.do(ctx, jobber{r.station(0).client(), r, 0, "worker"}); err != nil {
					t.Errorf("%s: %v", x.name, err)
				}
				cancel()
			}
			synctest.Wait()
			if round == 0 {
				before = server.Watches()
			}
		}
		// Those of streams on what never changes stay.
		if n := server.Watches(); n > before+2*nothings {
			t.Errorf("%d watches after one round, and %d after five", before, n)
		}
	})
}

// What a server says of itself is read by name.
func TestParse(t *testing.T) {
	got := parse("zk_version\t3.8.0, built on\nzk_watch_count\t12\nzk_avg_latency\t0.5\n\n")
	if len(got) != 2 || got["zk_watch_count"] != 12 || got["zk_avg_latency"] != .5 {
		t.Errorf("%v", got)
	}
}

package run

import (
	"maps"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/bench/internal/server"
)

func reading(at time.Time, n, rss float64) server.Reading {
	return server.Reading{Counters: map[server.Counter]server.Count{server.Requests: {N: n, At: at}}, RSS: rss}
}

// What is counted is divided by what was done meanwhile: under a load that goes on,
// between the two readings; otherwise in all.
func TestMetrics(t *testing.T) {
	t0 := time.Unix(0, 0)
	marks := map[string]server.Reading{
		"base": {RSS: 1000}, "sessions": {RSS: 1500}, "waiting": {RSS: 2000},
		"begin": reading(t0, 100, 0), "end": reading(t0.Add(5*time.Second), 1100, 0),
	}
	for _, tt := range []struct {
		steady, requests float64
	}{
		{0, 1000. / 200},      // the readings lie around all that was done
		{1, 1000. / (50 * 5)}, // the load went on for a second after the end
	} {
		own := map[string]float64{"ops": 200, "secs": 4, "steady": tt.steady}
		want := map[string]float64{"ops": 200, "secs": 4, "steady": tt.steady,
			"rate": 50, "requests": tt.requests, "session_rss": 50, "waiting_rss": 100}
		if got := metrics(own, marks, 10); !maps.Equal(got, want) {
			t.Errorf("steady %v:\n%v, want\n%v", tt.steady, got, want)
		}
	}
}

// A run in which nothing was done has no costs, rather than infinite ones.
func TestMetricsOfNothing(t *testing.T) {
	got := metrics(map[string]float64{"ops": 0, "secs": 4}, nil, 1)
	if want := map[string]float64{"ops": 0, "secs": 4}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

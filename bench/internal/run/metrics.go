package run

import (
	"github.com/zkcoord/zkcoord/bench/internal/server"
)

// metrics joins what a client has measured itself with what was read at its marks. It
// had n sessions, or contenders.
func metrics(own map[string]float64, marks map[string]server.Reading, n int) map[string]float64 {
	m := make(map[string]float64)
	for k, v := range own {
		m[k] = v
	}
	ops, secs := own["ops"], own["secs"]
	if ops > 0 && secs > 0 {
		m["rate"] = ops / secs
		begin, end := marks["begin"].Counters, marks["end"].Counters
		for name, b := range end {
			a, ok := begin[name]
			if !ok {
				continue
			}
			done := ops
			if took := b.At.Sub(a.At).Seconds(); own["steady"] != 0 && took > 0 {
				done = m["rate"] * took // what was done while this counter was watched
			}
			m[string(name)] = (b.N - a.N) / done
		}
	}
	for mark, name := range map[string]string{"sessions": "session_rss", "waiting": "waiting_rss"} {
		if r, base := marks[mark].RSS, marks["base"].RSS; r > 0 && base > 0 {
			m[name] = (r - base) / float64(n)
		}
	}
	return m
}

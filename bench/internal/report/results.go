// Package report makes a report of what clients have been measured at: tables and
// plots. It knows nothing of how that was done.
package report

import "time"

// Results are all that is known of one benchmark.
type Results struct {
	Machine  string
	Commit   string
	Begun    time.Time
	Took     time.Duration
	CPUs     int
	Load     [2]float64        // the load average before and after
	Servers  []string          // with versions
	Names    map[string]string // of clients, with versions, by peer
	Missing  []string          // what could not be measured, and why
	Failures []string
	Rows     []Row
	Runs     []Run
}

// A Row is what is measured in one place of a table, for each of its peers.
type Row struct {
	Name     string // in Runs
	Workload string
	N        int
	Text     string   // what distinguishes it in its table
	Peers    []string // the others are compared to the first
}

// A Run is one client's run.
type Run struct {
	Round   int
	Row     string
	Peer    string
	Metrics map[string]float64
	Others  float64 // CPUs that other processes have used beside it
}

// values returns what a peer has been measured at in each round.
func (r *Results) values(row, peer, metric string) map[int]float64 {
	values := make(map[int]float64)
	for _, run := range r.Runs {
		if v, ok := run.Metrics[metric]; ok && run.Row == row && run.Peer == peer {
			values[run.Round] = v
		}
	}
	return values
}

// Value is the middle of what a peer has been measured at.
func (r *Results) Value(row Row, peer, metric string) Spread {
	return spread(r.values(row.Name, peer, metric))
}

// Ratio compares a peer to the first of the row, round by round.
func (r *Results) Ratio(row Row, peer, metric string) Spread {
	base := r.values(row.Name, row.Peers[0], metric)
	ratios := make(map[int]float64)
	for round, v := range r.values(row.Name, peer, metric) {
		if b := base[round]; b != 0 {
			ratios[round] = v / b
		}
	}
	return spread(ratios)
}

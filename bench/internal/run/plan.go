package run

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zkcoord/zkcoord/bench/internal/client"
	"github.com/zkcoord/zkcoord/bench/internal/report"
)

// A Row is a row of the report, with what its clients are told.
type Row struct {
	report.Row
	flags     client.Flags  // but for the peer, the address and the root
	roundTrip time.Duration // that the way to the server takes beyond what it takes anyway
}

// A Plan says what is measured.
type Plan struct {
	Full      bool          // all sizes, measured for longer
	Workloads []string      // none but these, if any
	Sizes     []int         // instead of the workload's own, if any
	Peers     []string      // none but these, if any
	Measure   time.Duration // of each run, instead of the plan's own, if any
}

// scale is how much is done.
type scale struct {
	cycle, handover, delayed, shared []int
	queue, fanout, recovery          []int
	settings, group, tree            []int
	lease                            []int
	measure, warm, leaseMeasure      time.Duration
	// most is among how many contenders a peer gets to the end of a hand-over in time;
	// any number, if none is given.
	most    map[string]int
	without []string
}

var scales = map[bool]scale{
	true: {
		cycle: []int{1, 16}, handover: []int{2, 16, 128, 512, 2000}, delayed: []int{1, 16}, shared: []int{16},
		queue: []int{10000}, fanout: []int{10000}, recovery: []int{10000},
		settings: []int{1000}, group: []int{10000}, tree: []int{10000}, lease: []int{100},
		measure: 4 * time.Second, warm: 2 * time.Second, leaseMeasure: 20 * time.Second,
		most: map[string]int{"kazoo": 512, "etcd": 512},
	},
	false: {
		cycle: []int{1, 16}, handover: []int{2, 16, 128, 512}, shared: []int{16},
		queue: []int{1000}, fanout: []int{1000}, recovery: []int{1000},
		settings: []int{100}, group: []int{1000}, tree: []int{1000}, lease: []int{20},
		measure: time.Second, warm: 500 * time.Millisecond, leaseMeasure: 4 * time.Second,
		most: map[string]int{"curator": 128}, without: []string{"kazoo"},
	},
}

var (
	all   = []string{"floor", "zkcoord", "zklock", "curator", "kazoo", "etcd"}
	inGo  = []string{"floor", "zkcoord", "zklock"}
	whole = []string{"floor", "zkcoord", "etcd"} // those that follow
)

// Rows returns the rows of the plan.
func (p Plan) Rows() []Row {
	s := scales[p.Full]
	var rows []Row
	add := func(workload string, sizes []int, peers []string, text string, change func(*Row)) {
		if len(p.Workloads) > 0 && !slices.Contains(p.Workloads, workload) {
			return
		}
		if len(p.Sizes) > 0 && len(sizes) > 0 {
			sizes = p.Sizes
		}
		for _, n := range sizes {
			row := Row{Row: report.Row{Workload: workload, N: n, Text: strconv.Itoa(n) + text}, flags: client.Defaults}
			row.Name = workload + "/" + row.Text
			row.flags.Workload, row.flags.N = workload, n
			row.flags.Measure, row.flags.Warm = s.measure, s.warm
			for _, peer := range peers {
				top, limited := s.most[peer]
				late := workload == "handover" && limited && n > top
				if p.wants(peer) && !slices.Contains(s.without, peer) && !late {
					row.Peers = append(row.Peers, peer)
				}
			}
			if change != nil {
				change(&row)
			}
			if p.Measure > 0 {
				row.flags.Measure = p.Measure
			}
			if len(row.Peers) > 0 {
				rows = append(rows, row)
			}
		}
	}
	const roundTrip = 10 * time.Millisecond
	delayed := func(r *Row) { r.roundTrip = roundTrip }
	add("cycle", s.cycle, all, "", nil)
	add("cycle", s.delayed, all, fmt.Sprint(", round trip ", roundTrip), delayed)
	add("handover", s.handover, all, "", nil)
	add("handover", s.delayed[min(1, len(s.delayed)):], all, fmt.Sprint(", round trip ", roundTrip), delayed)
	add("shared", s.shared, []string{"curator", "zkcoord", "etcd"}, "", nil)
	add("queue", s.queue, inGo, "", nil)
	add("recovery", s.recovery, []string{"floor", "zkcoord"}, "", nil)
	add("fanout", s.fanout, whole, "", nil)
	add("settings", s.settings, whole, "", nil)
	add("group", s.group, whole, "", nil)
	add("tree", s.tree, whole, "", nil)
	for _, keys := range []int{0, 1, 100} {
		add("lease", s.lease, whole, fmt.Sprintf(", %d locks each", keys), func(r *Row) {
			r.flags.Keys, r.flags.Measure, r.flags.Timeout = keys, s.leaseMeasure, 10*time.Second
		})
	}
	return rows
}

// wants reports whether the plan has the peer in it.
func (p Plan) wants(peer string) bool { return len(p.Peers) == 0 || slices.Contains(p.Peers, peer) }

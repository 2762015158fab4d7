package run

import (
	"slices"
	"testing"

	"github.com/zkcoord/zkcoord/bench/internal/client"
)

// Both plans have each workload, and a name for each row that is its own.
func TestPlansHaveAllWorkloads(t *testing.T) {
	for _, full := range []bool{false, true} {
		names := make(map[string]bool)
		workloads := make(map[string]bool)
		for _, row := range (Plan{Full: full}).Rows() {
			if names[row.Name] {
				t.Errorf("full %t: two rows %s", full, row.Name)
			}
			names[row.Name], workloads[row.Workload] = true, true
		}
		for w := range client.Workloads {
			if !workloads[w] {
				t.Errorf("full %t: no workload %s", full, w)
			}
		}
		if len(workloads) != len(client.Workloads) {
			t.Errorf("full %t: workloads %v, of which some are unknown", full, workloads)
		}
	}
}

// What limits a hand-over does not limit what is measured otherwise.
func TestLimitsAreThoseOfTheHandOver(t *testing.T) {
	var etcd []string
	for _, row := range (Plan{Full: true, Peers: []string{"etcd"}}).Rows() {
		etcd = append(etcd, row.Name)
	}
	if !slices.Contains(etcd, "fanout/10000") || slices.Contains(etcd, "handover/2000") {
		t.Errorf("etcd is measured in %q", etcd)
	}
}

// Of a plan one can have a part, or other sizes. A peer is not given more contenders
// than it can stand.
func TestPartOfAPlan(t *testing.T) {
	rows := Plan{Full: true, Workloads: []string{"handover"}, Sizes: []int{7, 700}, Peers: []string{"kazoo", "zkcoord"}}.Rows()
	var got []string
	for _, row := range rows {
		for _, peer := range row.Peers {
			got = append(got, row.Name+" "+peer)
		}
	}
	slices.Sort(got)
	want := []string{"handover/7 kazoo", "handover/7 zkcoord", "handover/700 zkcoord"}
	delayed := []string{"handover/7, round trip 10ms kazoo", "handover/7, round trip 10ms zkcoord", "handover/700, round trip 10ms zkcoord"}
	for _, w := range append(want, delayed...) {
		if !slices.Contains(got, w) {
			t.Errorf("no %s in %q", w, got)
		}
	}
	if len(got) != len(want)+len(delayed) {
		t.Errorf("%q", got)
	}
}

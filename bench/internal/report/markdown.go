package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Write writes the report as Markdown. The plots are those of [Results.Plots].
func (r *Results) Write(w io.Writer) error {
	b := new(strings.Builder)
	r.head(b)
	r.summary(b)
	for _, p := range plots {
		if r.plotted(p) {
			fmt.Fprintf(b, "\n![%s](%s)\n", p.title, p.file)
		}
	}
	for _, t := range tables {
		r.table(b, t)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Alone is the share of one CPU below which other processes do not matter.
const Alone = .1

func (r *Results) head(b *strings.Builder) {
	rounds := 0
	others := make(map[int]float64)
	for i, run := range r.Runs {
		rounds = max(rounds, run.Round)
		others[i] = run.Others
	}
	fmt.Fprintf(b, "# Benchmark of %s\n\n", r.Begun.Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(b, "- Machine: %s\n- Commit: %s\n- Servers: %s\n", r.Machine, r.Commit, strings.Join(r.Servers, ", "))
	fmt.Fprintf(b, "- Clients:")
	sep := " "
	for _, peer := range peers {
		if name := r.Names[peer]; name != "" && slices.ContainsFunc(r.Runs, func(run Run) bool { return run.Peer == peer }) {
			fmt.Fprintf(b, "%s%s", sep, name)
			sep = ", "
		}
	}
	fmt.Fprintf(b, "\n- Rounds: %d, in %v. In each all clients of a row run one after the other.\n", rounds, r.Took.Round(time.Second))
	s := spread(others)
	verdict := "The machine was held alone."
	if s.Max > Alone {
		verdict = "**The machine was not held alone.**"
	}
	fmt.Fprintf(b, "- %s Beside a run other processes used %.2f of %d CPUs (median; at most %.2f). Load average %.2f before, %.2f after.\n",
		verdict, s.Median, r.CPUs, s.Max, r.Load[0], r.Load[1])
	for _, m := range r.Missing {
		fmt.Fprintf(b, "- Missing: %s\n", m)
	}
	for _, f := range r.Failures {
		fmt.Fprintf(b, "- Failed: %s\n", f)
	}
	b.WriteString("\nEach number is the median of the rounds. Behind it, where it matters, is the ratio to the first client of the row in the same round: median [least..greatest].\n")
}

// summary has a line for each row with a rate, and a column for each peer.
func (r *Results) summary(b *strings.Builder) {
	var shown []string
	for _, peer := range peers[1:] {
		if slices.ContainsFunc(r.Runs, func(run Run) bool { return run.Peer == peer && run.Metrics["steady"] != 0 }) {
			shown = append(shown, peer)
		}
	}
	b.WriteString("\n## Rates, as ratios\n\n| | to |")
	for _, peer := range shown {
		fmt.Fprintf(b, " %s |", r.name(peer))
	}
	fmt.Fprintf(b, "\n|---|---|%s\n", strings.Repeat("---:|", len(shown)))
	for _, row := range r.Rows {
		if t := tableOf(row.Workload); t.columns[0].metric != "rate" || r.Value(row, row.Peers[0], "rate").N == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s, %s | %s: %s/s |", row.Workload, row.Text, r.name(row.Peers[0]), r.Value(row, row.Peers[0], "rate").plain())
		for _, peer := range shown {
			text := "–"
			if s := r.Ratio(row, peer, "rate"); s.N > 0 && peer != row.Peers[0] {
				text = s.String()
			}
			fmt.Fprintf(b, " %s |", text)
		}
		b.WriteString("\n")
	}
}

func tableOf(workload string) table {
	i := slices.IndexFunc(tables, func(t table) bool { return t.workload == workload })
	return tables[i]
}

func (r *Results) table(b *strings.Builder, t table) {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool {
		return row.Workload != t.workload || row.N < t.from || !slices.ContainsFunc(r.Runs, func(run Run) bool { return run.Row == row.Name })
	})
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| %s | client |", t.title, t.text, t.size)
	for _, c := range t.columns {
		fmt.Fprintf(b, " %s |", c.title)
		if c.ratio {
			fmt.Fprintf(b, " of %s |", r.name(rows[0].Peers[0]))
		}
	}
	fmt.Fprintf(b, "\n|---|---|%s\n", strings.Repeat("---:|", strings.Count(lastLine(b.String()), "|")-3))
	for _, row := range rows {
		for _, peer := range row.Peers {
			r.line(b, t, row, peer)
		}
	}
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

func (r *Results) line(b *strings.Builder, t table, row Row, peer string) {
	if !slices.ContainsFunc(r.Runs, func(run Run) bool { return run.Row == row.Name && run.Peer == peer }) {
		return
	}
	fmt.Fprintf(b, "| %s | %s |", row.Text, r.name(peer))
	for _, c := range t.columns {
		fmt.Fprintf(b, " %s |", r.Value(row, peer, c.metric).plain())
		switch {
		case !c.ratio:
		case peer == row.Peers[0]:
			b.WriteString(" |")
		default:
			fmt.Fprintf(b, " %s |", r.Ratio(row, peer, c.metric))
		}
	}
	b.WriteString("\n")
}

// peers are all peers in the order in which they are shown.
var peers = []string{"floor", "zkcoord", "zklock", "curator", "kazoo", "etcd"}

// short are their names without versions.
var short = map[string]string{
	"floor": "floor", "zkcoord": "zkcoord", "zklock": "zk.Lock", "curator": "Curator", "kazoo": "kazoo", "etcd": "etcd",
}

func (r *Results) name(peer string) string { return cmp.Or(short[peer], peer) }

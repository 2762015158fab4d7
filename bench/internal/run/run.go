// Package run measures: it runs clients beside servers, one at a time, and collects
// what it learns of them.
package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/zkcoord/zkcoord/bench/internal/client"
	"github.com/zkcoord/zkcoord/bench/internal/foreign"
	"github.com/zkcoord/zkcoord/bench/internal/report"
	"github.com/zkcoord/zkcoord/bench/internal/server"
)

// Options say what is run, and for how long.
type Options struct {
	Plan
	Rounds  int
	Limit   time.Duration // after which no run begins
	Self    []string      // the command for the clients in Go
	Profile string        // the file for a CPU profile of each client that is zkcoord; none if empty
	Heap    string        // the file for a heap profile of the same; none if empty
	Log     io.Writer     // gets a line for each run
}

// A bench is what is kept between runs.
type bench struct {
	Options
	rows     []Row
	commands map[string][]string // by peer; those that can be run
	results  *report.Results
	progress progress
	count    int // runs so far
}

// Run measures. What it has measured so far it returns even if it fails, or ctx ends.
func Run(ctx context.Context, o Options) (*report.Results, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b := &bench{Options: o, rows: o.Rows(), results: machine(), commands: make(map[string][]string)}
	b.find(ctx, dir)
	b.narrow()
	b.results.Load[0] = load()
	b.progress = progress{out: o.Log, begun: b.results.Begun, limit: o.Limit, total: o.Rounds * b.runs()}
	for round := 1; round <= o.Rounds && err == nil && !b.late(); round++ {
		err = b.round(ctx, round)
	}
	b.results.Load[1] = load()
	b.results.Took = time.Since(b.results.Begun)
	return b.results, err
}

// late reports whether no run may begin any more.
func (b *bench) late() bool { return b.Limit > 0 && time.Since(b.results.Begun) > b.Limit }

func (b *bench) runs() (n int) {
	for _, row := range b.rows {
		n += len(row.Peers)
	}
	return n
}

// find finds out which peers there are.
func (b *bench) find(ctx context.Context, dir string) {
	b.results.Names = map[string]string{
		"floor":   fmt.Sprintf("floor (plain calls of go-zookeeper %s)", version("github.com/go-zookeeper/zk")),
		"zkcoord": "zkcoord (the commit above)",
		"zklock":  fmt.Sprintf("zk.Lock (of go-zookeeper %s)", version("github.com/go-zookeeper/zk")),
	}
	for _, peer := range inGo {
		b.commands[peer] = append(slices.Clone(b.Self), "client")
	}
	missing := func(what string, err error) {
		b.results.Missing = append(b.results.Missing, fmt.Sprintf("%s: %v", what, err))
	}
	if _, err := server.EtcdVersion(); !b.wants("etcd") {
	} else if err != nil {
		missing("etcd", err)
	} else {
		b.commands["etcd"] = b.commands["floor"]
		b.results.Names["etcd"] = fmt.Sprintf("etcd (client/v3 %s)", version("go.etcd.io/etcd/client/v3"))
	}
	for peer, look := range map[string]func(context.Context, string) (foreign.Client, error){"curator": foreign.Curator, "kazoo": foreign.Kazoo} {
		if !slices.ContainsFunc(b.rows, func(r Row) bool { return slices.Contains(r.Peers, peer) }) {
			continue
		}
		c, err := look(ctx, dir)
		if err != nil {
			missing(peer, err)
			continue
		}
		b.commands[peer], b.results.Names[peer] = c.Command, c.Name
	}
}

// narrow leaves out of the rows what cannot be run.
func (b *bench) narrow() {
	for i := range b.rows {
		row := &b.rows[i]
		row.Peers = slices.DeleteFunc(row.Peers, func(peer string) bool { return b.commands[peer] == nil })
	}
	b.rows = slices.DeleteFunc(b.rows, func(row Row) bool { return len(row.Peers) == 0 })
	for _, row := range b.rows {
		b.results.Rows = append(b.results.Rows, row.Row)
	}
}

// round runs each client of each row once, on servers of the round's own.
func (b *bench) round(ctx context.Context, round int) error {
	servers, err := b.start(ctx)
	defer func() {
		for _, s := range servers {
			s.Stop()
		}
	}()
	if err != nil {
		return err
	}
	if err := b.warm(ctx, servers); err != nil {
		return err
	}
	for _, row := range b.rows {
		for i := range row.Peers {
			// Each round begins with another, lest one always have the same before it.
			peer := row.Peers[(i+round-1)%len(row.Peers)]
			if b.late() {
				b.fail("not all was run: the limit of %v has passed in round %d", b.Limit, round)
				return nil
			}
			if err := b.one(ctx, servers, row, peer, round); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) fail(format string, args ...any) {
	b.results.Failures = append(b.results.Failures, fmt.Sprintf(format, args...))
}

const startTimeout = time.Minute

// start starts the servers that the rows need. The first is ZooKeeper.
func (b *bench) start(ctx context.Context) (servers []*server.Server, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s, err := server.ZooKeeper(ctx)
	if err != nil {
		return nil, err
	}
	servers = append(servers, s)
	if b.commands["etcd"] != nil {
		if s, err = server.Etcd(ctx); err != nil {
			return servers, err
		}
		servers = append(servers, s)
	}
	b.results.Servers = nil
	for _, s := range servers {
		b.results.Servers = append(b.results.Servers, s.Name)
	}
	return servers, nil
}

// warm has the servers compile what they are going to need.
func (b *bench) warm(ctx context.Context, servers []*server.Server) error {
	for i, peer := range []string{"floor", "etcd"}[:len(servers)] {
		flags := client.Defaults
		flags.Peer, flags.Workload, flags.N, flags.Addr = peer, "handover", 16, servers[i].Addr
		flags.Measure, flags.Warm, flags.Root = b.rows[0].flags.Measure, b.rows[0].flags.Warm, "/warm"
		if _, err := runClient(ctx, b.commands[peer], flags, servers[i], nil); err != nil {
			return err
		}
	}
	return nil
}

// one runs a client. That it fails is noted, and no failure of the whole.
func (b *bench) one(ctx context.Context, servers []*server.Server, row Row, peer string, round int) error {
	s := servers[0]
	if peer == "etcd" {
		s = servers[1]
	}
	flags := row.flags
	b.count++
	flags.Peer, flags.Root, flags.Addr = peer, fmt.Sprintf("/bench%d", b.count), s.Addr
	if peer == "curator" {
		flags.Warm *= 4 // it is compiled as it runs
	}
	if peer == "zkcoord" {
		flags.Profile, flags.Heap = b.Profile, b.Heap
	}
	if row.roundTrip > 0 {
		way, err := server.NewDelay(s.Addr, row.roundTrip/2)
		if err != nil {
			return err
		}
		defer way.Close()
		flags.Addr = way.Addr
	}
	ours := []int{os.Getpid()}
	for _, s := range servers {
		ours = append(ours, s.Pid)
	}
	begun := time.Now()
	o, err := runClient(ctx, b.commands[peer], flags, s, ours)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	run := report.Run{Round: round, Row: row.Name, Peer: peer, Metrics: o.metrics, Others: o.others}
	if err != nil {
		b.fail("%s, %s, round %d: %v", peer, row.Name, round, err)
	} else {
		b.results.Runs = append(b.results.Runs, run)
	}
	b.progress.done(run, err, time.Since(begun))
	return nil
}

package client

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"time"
)

// Flags are what a client is told. See [Workloads] for what N means.
type Flags struct {
	Peer     string        // which library; see [Peers]
	Workload string        // see [Workloads]
	Addr     string        // of the server, host:port
	Root     string        // the directory to work in; unused so far
	N        int           // how many
	Keys     int           // lease: locks that each session holds
	Watchers int           // group, tree: clients that follow
	Measure  time.Duration // how long to measure
	Warm     time.Duration // how long to run before that
	Timeout  time.Duration // of sessions
	Pause    time.Duration // shared: of the writer between two writes
	Rate     int           // settings: changes a second
	Profile  string        // the file for a CPU profile from begin to end; none if empty
	Heap     string        // the file for a heap profile while all wait; none if empty
}

// Args returns the command line that says f.
func (f Flags) Args() []string {
	var args []string
	set := flag.NewFlagSet("", flag.ContinueOnError)
	f.define(set)
	set.VisitAll(func(one *flag.Flag) { args = append(args, "-"+one.Name, one.Value.String()) })
	return args
}

func (f *Flags) define(set *flag.FlagSet) {
	set.StringVar(&f.Peer, "peer", f.Peer, "library")
	set.StringVar(&f.Workload, "w", f.Workload, "workload")
	set.StringVar(&f.Addr, "addr", f.Addr, "server, host:port")
	set.StringVar(&f.Root, "root", f.Root, "directory, unused so far")
	set.IntVar(&f.N, "n", f.N, "how many")
	set.IntVar(&f.Keys, "keys", f.Keys, "lease: locks that each session holds")
	set.IntVar(&f.Watchers, "watchers", f.Watchers, "group, tree: clients that follow")
	set.DurationVar(&f.Measure, "secs", f.Measure, "how long to measure")
	set.DurationVar(&f.Warm, "warm", f.Warm, "how long to run before that")
	set.DurationVar(&f.Timeout, "timeout", f.Timeout, "of sessions")
	set.DurationVar(&f.Pause, "pause", f.Pause, "shared: of the writer between two writes")
	set.IntVar(&f.Rate, "rate", f.Rate, "settings: changes a second")
	set.StringVar(&f.Profile, "cpuprofile", f.Profile, "file for a CPU profile")
	set.StringVar(&f.Heap, "memprofile", f.Heap, "file for a heap profile while all wait")
}

// Defaults is what a client does that is told nothing.
var Defaults = Flags{
	Peer:     "zkcoord",
	Workload: "cycle",
	Addr:     "127.0.0.1:2181",
	Root:     "/bench",
	N:        1,
	Keys:     1,
	Watchers: 2,
	Measure:  4 * time.Second,
	Warm:     time.Second,
	Timeout:  30 * time.Second,
	Pause:    10 * time.Millisecond,
	Rate:     100,
}

// Workloads are the workloads by name.
var Workloads = map[string]func(*process){
	"cycle":    cycle,    // N clients, each with a lock of its own
	"handover": handover, // N clients contend for one lock
	"shared":   shared,   // N clients read under a shared lock, and one writes
	"queue":    queue,    // N contenders of one client for one lock that another client holds
	"recovery": recovery, // the same, when the connection is reset
	"fanout":   fanout,   // N subscribers of one client to one znode that changes
	"settings": settings, // N settings that one client follows, of which one or another changes
	"group":    group,    // a group of N members, of whom one comes and goes
	"tree":     tree,     // a tree of N settings, of which one changes
	"lease":    lease,    // N idle clients that hold some locks each
}

// A process is one run of a workload.
type process struct {
	Flags
	peer   peer
	in     *bufio.Reader
	out    io.Writer
	result map[string]float64
}

// patience bounds each step of a run that should end by itself.
const patience = 3 * time.Minute

// Main is the main function of a client with these arguments.
func Main(args []string) {
	log.SetFlags(0)
	p := &process{Flags: Defaults, in: bufio.NewReader(os.Stdin), out: os.Stdout, result: map[string]float64{}}
	set := flag.NewFlagSet("client", flag.ExitOnError)
	p.define(set)
	_ = set.Parse(args) // it exits
	if p.Heap != "" {
		runtime.MemProfileRate = 512
	}
	run, known := Workloads[p.Workload]
	if p.peer = Peers[p.Peer]; p.peer == nil || !known {
		log.Fatalf("no peer %q or no workload %q", p.Peer, p.Workload)
	}
	log.SetPrefix(fmt.Sprintf("%s, %s %d: ", p.Peer, p.Workload, p.N))
	limit := 2*patience + p.Measure + p.Warm
	time.AfterFunc(limit, func() { log.Fatalf("not done after %v", limit) })
	run(p)
	line, err := json.Marshal(p.result)
	check(err)
	fmt.Fprintf(p.out, "%s\n", line)
	os.Exit(0) // of some peers goroutines are left that wait for locks
}

// check ends the process if something has failed: half a measurement is none.
func check(err error) {
	if err != nil {
		_ = log.Output(2, err.Error())
		os.Exit(1)
	}
}

// path returns a path in the root.
func (p *process) path(elem ...string) string { return path.Join(p.Root, path.Join(elem...)) }

// mark lets the caller read clocks and counters.
func (p *process) mark(name string) {
	fmt.Fprintln(p.out, "mark", name)
	_, _ = p.in.ReadString('\n') // at the end of input there is nobody to wait for
}

// rest waits until neither the client nor the server has anything to do any more.
func (p *process) rest() {
	p.mark("rest")
	time.Sleep(50 * time.Millisecond) // for what the caller cannot see
}

// begin and end bracket what is measured.
func (p *process) begin() time.Time {
	p.mark("begin")
	if p.Profile != "" {
		f, err := os.Create(p.Profile)
		check(err)
		check(pprof.StartCPUProfile(f))
	}
	return time.Now()
}

func (p *process) end(begun time.Time) {
	p.result["secs"] = time.Since(begun).Seconds()
	pprof.StopCPUProfile()
	p.mark("end")
}

// A memory is what the process uses.
type memory struct{ heap, stack, goroutines float64 }

// measured collects the garbage and lets the caller read how much memory is left.
func (p *process) measured(name string) memory {
	runtime.GC()
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	p.mark(name)
	return memory{float64(stats.HeapAlloc), float64(stats.StackInuse), float64(runtime.NumGoroutine())}
}

// grown notes by how much the process has grown since base for each of the N.
func (p *process) grown(base, now memory) {
	n := float64(p.N)
	p.result["heap_kb"] = (now.heap - base.heap) / 1024 / n
	p.result["stack_kb"] = (now.stack - base.stack) / 1024 / n
	p.result["goroutines"] = (now.goroutines - base.goroutines) / n
	if p.Heap != "" {
		f, err := os.Create(p.Heap)
		check(err)
		check(errors.Join(pprof.WriteHeapProfile(f), f.Close()))
	}
}

// quantiles notes the median and the 99th percentile of v, which it sorts.
func (p *process) quantiles(name string, v []time.Duration) {
	if len(v) == 0 {
		return
	}
	slices.Sort(v)
	at := func(q float64) float64 {
		i := int(math.Ceil(q*float64(len(v)))) - 1
		return float64(v[max(i, 0)]) / float64(time.Microsecond)
	}
	p.result[name+"_p50"], p.result[name+"_p99"] = at(.5), at(.99)
}

// eventually polls until ok, and ends the process if that takes too long.
func eventually(what string, ok func() bool) {
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			log.Fatalf("not after %v: %s", patience, what)
		}
	}
}

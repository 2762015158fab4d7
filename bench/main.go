// Command bench measures this library beside others.
//
//	go run . [flags]         measure, and write a report
//	go run . client [flags]  be one of the clients: see internal/client
//	go run . report [dir]    write the report again of what was measured
//
// See README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zkcoord/zkcoord/bench/internal/client"
	"github.com/zkcoord/zkcoord/bench/internal/report"
	"github.com/zkcoord/zkcoord/bench/internal/run"
)

func main() {
	log.SetFlags(0)
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "client":
		client.Main(os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "report":
		err = again(append(os.Args[2:], "out")[0])
	default:
		err = measure()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// measure measures and writes the report.
func measure() error {
	var (
		o                    run.Options
		workloads, sizes, of string
		out                  string
	)
	flag.BoolVar(&o.Full, "full", false, "all sizes and peers, for longer")
	flag.IntVar(&o.Rounds, "rounds", 2, "rounds; in each all is measured once")
	flag.DurationVar(&o.Limit, "limit", 6*time.Minute, "after which nothing begins any more")
	flag.StringVar(&workloads, "w", "", "workloads, separated by commas; all if empty: see README.md")
	flag.StringVar(&sizes, "n", "", "sizes, separated by commas, instead of each workload's own")
	flag.StringVar(&of, "peers", "", "clients, separated by commas; all if empty")
	flag.DurationVar(&o.Measure, "secs", 0, "how long each run is measured, instead of the plan's own")
	flag.StringVar(&o.Profile, "cpuprofile", "", "file for a CPU profile of zkcoord's client, the last one if there are several")
	flag.StringVar(&o.Heap, "memprofile", "", "file for a heap profile of the same, while its contenders wait")
	flag.StringVar(&out, "out", "out", "directory for the report")
	flag.Parse()
	o.Workloads, o.Peers = split(workloads), split(of)
	for _, text := range split(sizes) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("size: %w", err)
		}
		o.Sizes = append(o.Sizes, n)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Self, o.Log = []string{self}, os.Stderr
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	results, err := run.Run(ctx, o)
	if results == nil || len(results.Runs) == 0 {
		return errors.Join(err, errors.New("nothing was measured"))
	}
	return errors.Join(err, write(results, out))
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

const resultsFile = "results.json"

// write writes what was measured, the report and the plots into dir.
func write(r *report.Results, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, resultsFile), text, 0o644); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "report.md"))
	if err != nil {
		return err
	}
	if err := errors.Join(r.Write(f), f.Close(), r.Plots(dir)); err != nil {
		return err
	}
	fmt.Println(f.Name())
	return nil
}

// again writes the report again.
func again(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, resultsFile))
	if err != nil {
		return err
	}
	r := new(report.Results)
	if err := json.Unmarshal(text, r); err != nil {
		return err
	}
	return write(r, dir)
}

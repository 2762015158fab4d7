package main

import (
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zkcoord/zkcoord/internal/history"
)

func main() {
	log.SetFlags(0)
	limit := flag.Duration("limit", 2*time.Minute, "for the search, all paths together")
	out := flag.String("out", ".", "directory for the pictures of what fails")
	stale := flag.String("stale", "", "faults, separated by commas, during which reads may be old, beside "+history.Isolate)
	flag.Parse()
	if flag.NArg() == 0 {
		log.Print("which history?")
		os.Exit(2)
	}
	var all [][]history.Event
	for _, name := range flag.Args() {
		events, err := read(name)
		if err != nil {
			log.Print(err)
			os.Exit(2)
		}
		all = append(all, events)
	}
	var opts []history.Option
	for _, fault := range strings.FieldsFunc(*stale, func(r rune) bool { return r == ',' }) {
		opts = append(opts, history.Stale(fault, 10*time.Second))
	}
	os.Exit(judge(history.Merge(all...), *limit, *out, opts...))
}

func read(name string) ([]history.Event, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return history.Read(f)
}

// judge searches for an order of each part of a history, prints what becomes of it, and returns
// the exit status.
func judge(events []history.Event, limit time.Duration, out string, opts ...history.Option) int {
	deadline := time.Now().Add(limit)
	all := parts(events, opts...)
	if len(all) == 0 {
		log.Print("nothing to check")
		return 2
	}
	sums := make(map[string]total) // by model
	failed, undecided := false, false
	for i, p := range all {
		// Each has its share of what is left, so that one that is hard does not take it all.
		share := max(time.Until(deadline)/time.Duration(len(all)-i), time.Millisecond)
		switch porcupine.CheckOperationsTimeout(p.model, p.ops, share) {
		case porcupine.Illegal:
			failed = true
			fmt.Printf("%s %s: no order of the %d operations explains them%s\n", p.name, p.path, len(p.ops), p.draw(out, max(share, 10*time.Second)))
		case porcupine.Unknown:
			undecided = true
			fmt.Printf("%s %s: not decided, with %d operations\n", p.name, p.path, len(p.ops))
		default:
			n := sums[p.name]
			sums[p.name] = total{n.paths + 1, n.ops + len(p.ops)}
		}
	}
	fmt.Printf("%-12s %8s %10s\n", "linearizable", "paths", "operations")
	for _, model := range slices.Sorted(maps.Keys(sums)) {
		fmt.Printf("%-12s %8d %10d\n", model, sums[model].paths, sums[model].ops)
	}
	switch {
	case failed:
		return 1
	case undecided:
		return 2
	}
	return 0
}

// A total counts what an order was found for.
type total struct{ paths, ops int }

// draw makes the picture of p, and says where it is.
func (p part) draw(dir string, limit time.Duration) string {
	_, info := porcupine.CheckOperationsVerbose(p.model, p.ops, limit)
	name := filepath.Join(dir, p.name+strings.ReplaceAll(p.path, "/", "-")+".html")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return ", no picture: " + err.Error()
	}
	if err := porcupine.VisualizePath(p.model, info, name); err != nil {
		return ", no picture: " + err.Error()
	}
	return ", see " + name
}

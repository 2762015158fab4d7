package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zkcoord/zkcoord/internal/history"
)

func main() {
	log.SetFlags(0)
	limit := flag.Duration("limit", 2*time.Minute, "for the search, all paths together")
	out := flag.String("out", ".", "directory for the pictures of what fails")
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
	os.Exit(judge(history.Merge(all...), *limit, *out))
}

func read(name string) ([]history.Event, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return history.Read(f)
}

// judge prints what becomes of each part of a history, and returns the exit status.
func judge(events []history.Event, limit time.Duration, out string) (status int) {
	deadline := time.Now().Add(limit)
	all := parts(events)
	if len(all) == 0 {
		log.Print("nothing to check")
		return 2
	}
	fmt.Printf("%-10s %-40s %10s %10s  %s\n", "model", "path", "operations", "took", "result")
	for i, p := range all {
		// Each has its share of what is left, so that one that is hard does not take it all.
		began, share := time.Now(), time.Until(deadline)/time.Duration(len(all)-i)
		result := porcupine.CheckOperationsTimeout(p.model, p.ops, max(share, time.Millisecond))
		note := ""
		switch {
		case result == porcupine.Illegal:
			status = 1
			note = p.draw(out, max(share, 10*time.Second))
		case result == porcupine.Unknown && status == 0:
			status = 2
		}
		fmt.Printf("%-10s %-40s %10d %10v  %s%s\n", p.name, p.path, len(p.ops), time.Since(began).Round(time.Millisecond), words[result], note)
	}
	return status
}

var words = map[porcupine.CheckResult]string{
	porcupine.Ok:      "linearizable",
	porcupine.Illegal: "NOT LINEARIZABLE",
	porcupine.Unknown: "not decided",
}

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

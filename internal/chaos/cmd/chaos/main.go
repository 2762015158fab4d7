// Chaos hurts a real ensemble and its clients, and checks what the clients have recorded.
//
//	go run ./internal/chaos/cmd/chaos -nodes 5 -for 10m
//
// It needs root, for network namespaces. At the end it prints a table. It exits with 1 if a
// promise was not kept, and says what runs the same faults again: in the same order, though
// not at the same moments. Histories and logs are kept then, or if -out names a directory.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/zkcoord/zkcoord/internal/chaos"
)

func main() {
	chaos.Main()
	nodes := flag.Int("nodes", 3, "servers: 3 or 5")
	clients := flag.Int("clients", 20, "client processes, at least 6")
	duration := flag.Duration("for", 10*time.Minute, "how long faults come")
	seed := flag.Uint64("seed", 0, "which faults come; 0 chooses one")
	out := flag.String("out", "", "the directory for histories and logs, which stay there")
	quiet := flag.Bool("quiet", false, "do not print each fault")
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64N(1_000_000) + 1
	}
	if !play(*nodes, *clients, *duration, *seed, *out, *quiet) {
		os.Exit(1)
	}
}

// play runs once, and reports whether all was well.
func play(nodes, clients int, duration time.Duration, seed uint64, out string, quiet bool) bool {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	dir := out
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "chaos-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return false
		}
	}
	opts := chaos.Options{Nodes: nodes, Clients: clients, For: duration, Seed: seed, Dir: dir}
	if !quiet {
		opts.Logf = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	}
	r, err := chaos.Run(ctx, opts)
	_ = r.Write(os.Stdout)
	missing := r.Missing()
	if err != nil {
		fmt.Println("the run did not come to its end:", err)
	}
	if missing != "" {
		fmt.Println("the run has not shown what it is for:", missing)
	}
	linear := searchOrder(ctx, dir)
	if linear != nil {
		fmt.Println("search for an order of the operations:", linear)
	}
	well := err == nil && missing == "" && len(r.Violations()) == 0 && linear == nil
	if !well {
		fmt.Printf("again: go run ./internal/chaos/cmd/chaos -nodes %d -clients %d -for %v -seed %d\n", nodes, clients, duration, seed)
	}
	if well && out == "" {
		_ = os.RemoveAll(dir)
	} else {
		fmt.Println("histories and logs:", dir)
	}
	return well
}

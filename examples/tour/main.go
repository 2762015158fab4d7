// Tour shows what a lock does for its holder when all goes well and when it does
// not: four contenders, each with a session and a connection of its own, queue for
// one lock and tell what their select sees. One gives up waiting, one is cut off
// by a partition while it holds the lock and is told Lost before the next has it,
// and what it then still writes is refused. A setting changes while one works. An
// onlooker sees who is there, and who is killed. At the end readers share another
// lock, and a writer has its turn and goes on as a reader.
//
//	go run ./examples/tour
//	go run ./examples/tour -zk zk1:2181,zk2:2181,zk3:2181
//
// A contender is [contender.run], one loop around one select. The rest makes
// things happen to it: script.go in what order, story.go prints it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

func main() {
	servers := flag.String("zk", "", "the `servers` to use, host:port,.../chroot; without, a server in this process")
	root := flag.String("chroot", "/zkcoord-tour", "the `path` below which the tour works; it leaves nothing there")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "Tour tells in some 10 s how four contenders share one lock, through a\n",
			"release, a cancellation, a lost connection and a partition, and how readers\n",
			"and writers share another; who is there; and how a setting changes. Exit\n",
			"status 0 means that all went as promised.\n",
			"\nusage: tour [flags]\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for anything
	if err := tell(ctx, *servers, *root); err != nil {
		fmt.Fprintln(os.Stderr, "\ntour:", err)
		os.Exit(1)
	}
}

// tell runs the tour on servers, or on one in this process.
func tell(ctx context.Context, servers, root string) error {
	t := &tour{out: os.Stdout, colors: colorful(os.Stdout), root: root}
	if servers != "" {
		list, chroot, err := coord.ParseServers(servers)
		if err != nil {
			return err
		}
		t.servers, t.where, t.root = list, servers, chroot+root
		return t.run(ctx)
	}
	server, err := coordtest.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	t.servers, t.where = []string{server.Addr()}, "in this process"
	return t.run(ctx)
}

// colorful reports whether f is a terminal and colors are welcome there.
func colorful(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 &&
		os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

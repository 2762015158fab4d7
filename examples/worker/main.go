// Worker works on one host at a time, however many it is started on.
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock"
)

func main() {
	connect := flag.String("zk", "127.0.0.1:2181", "the ZooKeeper servers: host:port,.../chroot")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	servers, chroot, err := coord.ParseServers(*connect)
	if err != nil {
		log.Fatal(err)
	}
	c, err := coord.Dial(ctx, servers, &coord.Options{Chroot: chroot, Logger: slog.Default()})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	err = lock.New(c, "/worker/lock").Run(ctx, work)
	log.Print("stopped: ", err)
}

// work is called when this process gets the lock, and when it gets it back after a loss.
// Its ctx ends when the lock is lost, and when the program is to stop.
func work(ctx context.Context, h *coord.Hold) error {
	log.Print("our turn, with token ", h.Token())
	for {
		select {
		case <-time.After(time.Second):
			log.Print("working")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

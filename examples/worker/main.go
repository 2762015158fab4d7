// Worker works on one host at a time, however many it is started on.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock"
)

func main() {
	servers := flag.String("zk", "127.0.0.1:2181", "the ZooKeeper servers, host:port,...")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	c, err := coord.Dial(ctx, strings.Split(*servers, ","), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	err = lock.New(c, "/worker/lock").Do(ctx, work)
	log.Print("stopped: ", err)
}

// work is called when this process has the lock. Its ctx ends when the lock is lost,
// and when the program is to stop.
func work(ctx context.Context, token coord.Token) error {
	log.Print("our turn, with token ", token)
	for {
		select {
		case <-time.After(time.Second):
			log.Print("working")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

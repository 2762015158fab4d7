// Queue is a work queue: some programs put items, others take and do them.
//
//	queue -put -priority 5 < lines     # puts each line as an item
//	queue -take                        # does items until it is interrupted
//	queue -results                     # prints what was done, and removes it
//	queue -bench 2000                  # says how fast the servers are at this
//
// The most urgent item, that of the least priority, is taken first, and of those of one
// priority the one that was put first. An item that is taken is a lock.Unqueued that is
// held. If its taker dies, the item is free again when the session of the taker is over,
// and the next one has a greater token. When an item is done, one transaction checks that
// the taker still holds it, creates the result and deletes the item. So an item may be
// begun more than once, but each has one result, however many takers die.
//
// # When not to
//
// ZooKeeper is the wrong place for most queues. It keeps all data in the memory of every
// server, and writes every change to the disk of most of them: to put an item is one such
// write, and to take and do it five. A listing must fit into one answer of 1 MiB, which is
// about 50,000 items, after which nobody can take any. One server on a machine with two
// busy cores did 140 items a second, whether one taker did them or eight (see -bench), where
// a message broker does a hundred thousand. It is the right place if the items are few and
// matter much, and the program depends on ZooKeeper anyhow. If there may be more than some
// hundred items at a time, keep them in a database, and only the right to work on them here.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

func main() {
	connect := flag.String("zk", "127.0.0.1:2181", "the ZooKeeper servers: host:port,.../chroot")
	timeout := flag.Duration("timeout", 10*time.Second, "the session timeout: how long an item of a dead taker is kept")
	dir := flag.String("dir", "/queue", "the directory of the queue")
	put := flag.Bool("put", false, "put each line of the standard input: an ID, a space, and what to do")
	priority := flag.Int("priority", 500, "of what is put: 0 to 999, 0 being the most urgent")
	take := flag.Bool("take", false, "do items until interrupted")
	results := flag.Bool("results", false, "print and remove the results")
	bench := flag.Int("bench", 0, "put and do so many items, and print how fast that was")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	dial := func() (*coord.Client, error) {
		servers, chroot, err := coord.ParseServers(*connect)
		if err != nil {
			return nil, err
		}
		return coord.Dial(ctx, servers, &coord.Options{Chroot: chroot, SessionTimeout: *timeout, Logger: slog.Default()})
	}
	c, err := dial()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	q, err := Open(ctx, c, *dir)
	if err != nil {
		log.Fatal(err)
	}
	switch {
	case *put:
		err = q.putLines(ctx, *priority)
	case *take:
		err = q.Work(ctx, countWords)
	case *results:
		err = q.Results(ctx, func(id string, result []byte) { fmt.Printf("%s %s\n", id, result) })
	case *bench > 0:
		err = benchmark(ctx, dial, *dir, *bench)
	default:
		flag.Usage()
	}
	if err != nil && ctx.Err() == nil {
		log.Print(err)
		os.Exit(1) // the session ends with the connection
	}
}

// countWords is what is done with an item.
func countWords(_ context.Context, item Item) ([]byte, error) {
	fmt.Printf("doing %s, with token %d\n", item.ID, item.Token)
	return fmt.Appendf(nil, "%d words, with token %d", len(strings.Fields(string(item.Data))), item.Token), nil
}

// putLines puts the lines of the standard input.
func (q *Queue) putLines(ctx context.Context, priority int) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		id, text, _ := strings.Cut(lines.Text(), " ")
		if err := q.Put(ctx, id, priority, []byte(text)); err != nil {
			return err
		}
		fmt.Println("put", id)
	}
	return lines.Err()
}

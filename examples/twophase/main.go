// Twophase moves amounts between accounts that different processes keep, each in a file of
// its own: all of them do it, or none. It is two-phase commit, with ZooKeeper for what all
// must see and a file for what each must not forget. Any process may be killed at any moment.
// When it is started again, it decides what the others have decided.
//
//	twophase coordinate                                        # on two hosts or more
//	twophase -name ada -journal ada.log -balance 100 participate
//	twophase -name ben -journal ben.log -balance 100 participate
//	twophase transfer ada=-10 ben=10
//
// # The protocol
//
// A transaction is a znode with the amounts, below /twophase/transactions. Its children are
// all that is known of it:
//
//		vote-ada    what a participant says, yes or no; the first word counts
//		commit      the decision
//		done-ada    a participant has carried it out
//
//	 1. A participant writes to its journal that it is prepared, and then votes yes. From then
//	    on it keeps the amount for this transaction. If it cannot, it votes no, and writes
//	    nothing.
//	 2. The coordinator creates commit when all have voted yes. Otherwise, or if a vote is
//	    missing for too long, it deletes the transaction, with all its children. There is no
//	    znode for an abort, and none is needed: this is presumed abort.
//	 3. A participant that sees commit writes to its journal that it has carried the
//	    transaction out, and then creates done. When all have, the coordinator deletes the
//	    transaction. So one that is gone was aborted, for every participant that is prepared
//	    and has not seen a commit.
//
// Why all decide the same: commit and the deletion are transactions of ZooKeeper, and each
// has the Guard of the coordinator's lock. So whatever an earlier coordinator still sends is
// refused. A deletion fails if there is a child that its sender has not seen, such as a
// commit. And that a transaction is gone, a participant in doubt does not take from a read,
// which may be old, but from a transaction of its own.
//
// A participant holds a lock, too: a process that was stopped, and goes on when another has
// taken its place, can neither vote nor be heard in the journal, in which each line has the
// token of its writer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

func main() {
	connect := flag.String("zk", "127.0.0.1:2181", "the ZooKeeper servers: host:port,.../chroot")
	name := flag.String("name", "", "the name of a participant")
	path := flag.String("journal", "", "the file of a participant")
	balance := flag.Int64("balance", 0, "what a participant has to begin with")
	patience := flag.Duration("patience", 5*time.Second, "for how long the coordinator waits for the votes")
	timeout := flag.Duration("timeout", 10*time.Second, "the session timeout")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	servers, chroot, err := coord.ParseServers(*connect)
	if err != nil {
		log.Fatal(err)
	}
	c, err := coord.Dial(ctx, servers, &coord.Options{Chroot: chroot, SessionTimeout: *timeout})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := prepare(ctx, c); err != nil {
		log.Fatal(err)
	}
	switch flag.Arg(0) {
	case "coordinate":
		err = coordinate(ctx, c, *patience)
	case "participate":
		err = participate(ctx, c, *name, *path, *balance)
	case "transfer":
		var t transfer
		if t, err = parse(flag.Args()[1:]); err == nil {
			err = propose(ctx, c, newID(), t)
		}
	default:
		err = errors.New("what to do? coordinate, participate or transfer")
	}
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// parse reads amounts such as ada=-10.
func parse(args []string) (transfer, error) {
	t := make(transfer)
	sum := int64(0)
	for _, arg := range args {
		name, text, _ := strings.Cut(arg, "=")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || name == "" {
			return nil, fmt.Errorf("%q is not a name and an amount, such as ada=-10", arg)
		}
		t[name] += n
		sum += n
	}
	if len(t) == 0 || sum != 0 {
		return nil, fmt.Errorf("the amounts of a transfer add up to zero, and not to %d", sum)
	}
	return t, nil
}

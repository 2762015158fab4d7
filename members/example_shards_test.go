package members_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"slices"
	"sync"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/members"
)

const shards = 12

// workOnShards works on its share of the shards as member id until ctx ends. Each shard has a
// lock, so that no two work on it while the shares change. The ctx of work ends with the
// lock, and with the share.
func workOnShards(ctx context.Context, c *coord.Client, id string, work func(ctx context.Context, shard int) error) error {
	g := members.New(c, "/shards/members")
	me := g.Keep(ctx, members.Member{ID: id})
	running := map[int]context.CancelFunc{}
	var ended sync.WaitGroup
	for v := range g.Watch(ctx).All() {
		for s := range shards {
			switch mine := owner(s, v) == id; {
			case v.Suspended || mine == (running[s] != nil):
			case !mine:
				running[s]()
				delete(running, s)
			default:
				ctx, stop := context.WithCancel(ctx)
				running[s] = stop
				ended.Go(func() {
					m := lock.New(c, fmt.Sprint("/shards/locks/", s), lock.Label(id))
					_ = m.Run(ctx, func(ctx context.Context, _ *coord.Hold) error { return work(ctx, s) })
				})
			}
		}
	}
	defer ended.Wait()
	return me.Leave(context.WithoutCancel(ctx)) // so that the others queue for our locks
}

// owner returns the member of v whose shard s is, by rendezvous hashing.
func owner(s int, v members.View) (id string) {
	rank := func(m members.Member) []byte { h := sha256.Sum256(fmt.Append(nil, s, " ", m.ID)); return h[:] }
	if len(v.Members) > 0 {
		id = slices.MaxFunc(v.Members, func(a, b members.Member) int { return bytes.Compare(rank(a), rank(b)) }).ID
	}
	return id
}

// Two members divide the shards; when one leaves, the other has all of them.
func Example_shards() {
	server, _ := coordtest.Start() // in place of an ensemble
	defer server.Close()
	began := make(chan string, 2*shards)
	var all sync.WaitGroup
	defer all.Wait()
	start := func(id string) context.CancelFunc {
		ctx, stop := context.WithCancel(context.Background())
		c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
		if err != nil {
			log.Fatal(err)
		}
		all.Go(func() {
			defer c.Close()
			_ = workOnShards(ctx, c, id, func(ctx context.Context, _ int) error {
				began <- id
				<-ctx.Done()
				return nil
			})
		})
		return stop
	}
	from := func(n int) (list []string) {
		for range n {
			list = append(list, <-began)
		}
		return slices.Compact(list)
	}
	defer start("ada")()
	fmt.Println(from(shards))
	stop := start("ben")
	fmt.Println(from(5)) // his share
	stop()
	fmt.Println(from(5))
	// Output:
	// [ada]
	// [ben]
	// [ada]
}

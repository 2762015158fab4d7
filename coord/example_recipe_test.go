package coord_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/event"
)

// Slots is a recipe: of all clients that ask, n have a slot at a time, in the order
// in which they asked. Each has an ephemeral znode in the directory dir, and holds
// while fewer than n older ones are there.
type Slots struct {
	c   *coord.Client
	dir string
	n   int
}

// Acquire asks for a slot, and gives up when ctx ends before there is one.
func (x Slots) Acquire(ctx context.Context) *coord.Hold {
	return x.c.Kit().NewHold(ctx, "acquire", x.dir, func(k *coord.Keeper) error {
		s, err := k.Await(ctx)
		if err != nil {
			return err
		}
		node := x.dir + "/" + rand.Text() // nobody else's, so to create it twice does no harm
		background := context.Background()
		err = s.InDir(background, x.dir, func() error {
			_, err := s.Create(background, node, nil, coord.Ephemeral)
			return err
		})
		if err == nil || errors.Is(err, coord.ErrNodeExists) { // by a try whose answer was lost
			err = x.hold(ctx, s, k, node)
		}
		k.End(err) // tells the owner before the next one can hold
		if err := s.Delete(background, node, -1); s.Refused(err) && !errors.Is(err, coord.ErrNoNode) {
			k.NotRemoved(err)
		}
		return err
	})
}

// hold makes the Hold held when it is its turn, and returns the cause of its end.
func (x Slots) hold(ctx context.Context, s *coord.Session, k *coord.Keeper, node string) error {
	watching, stop := context.WithCancel(context.Background())
	defer stop()
	children := x.c.Watch(watching, x.dir, event.Children)
	canceled, held := ctx.Done(), false
	for {
		select {
		case <-children.Updates():
			older, token, err := x.rank(s, node)
			if err == nil && older < x.n && !held {
				if err = s.Renew(k.Context(), node); err == nil { // what was read is the word of one server
					err = k.Acquired(s, node, token)
				}
				held = true
			}
			if err != nil {
				return err
			}
		case <-canceled:
			if canceled = nil; k.GiveUp(context.Cause(ctx)) { // else it is held, and ctx no longer matters
				return context.Cause(ctx)
			}
		case <-k.Released():
			return coord.ErrReleased
		case <-s.Done():
			return s.Err()
		case <-children.Done():
			return errors.Unwrap(children.Err())
		}
	}
}

// rank returns how many znodes are older than node, and the token of that.
func (x Slots) rank(s *coord.Session, node string) (older int, token coord.Token, err error) {
	names, _, err := s.Children(context.Background(), x.dir)
	var created []int64
	for _, name := range names {
		n, e := s.Exists(context.Background(), x.dir+"/"+name)
		if e != nil {
			return 0, 0, e
		}
		if created = append(created, n.Czxid); x.dir+"/"+name == node {
			token = coord.Token(n.Czxid)
		}
	}
	if err == nil && token == 0 {
		err = coord.ErrDeleted
	}
	slices.Sort(created)
	older, _ = slices.BinarySearch(created, int64(token))
	return older, token, err
}

// A recipe of one's own, from requests of a session, a Hold and a stream.
func ExampleKit_NewHold() {
	server, err := coordtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	slots := Slots{c, "/slots", 2}
	a, b := slots.Acquire(ctx), slots.Acquire(ctx)
	fmt.Println(a.Wait(), b.Wait())
	next := slots.Acquire(ctx)
	a.Release(ctx)
	fmt.Println(next.Wait())
	fmt.Println(a.Err())
	// Output:
	// <nil> <nil>
	// <nil>
	// release /slots: coord: released
}

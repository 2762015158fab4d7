package config_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// connect returns a client of a server of its own, in place of an ensemble.
func connect(ctx context.Context) (c *coord.Client, stop func()) {
	server, err := coordtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	c, err = coord.Dial(ctx, []string{server.Addr()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		c.Close()
		server.Close()
	}
}

// Limits are what the examples keep.
type Limits struct{ Workers, Queue int }

// serve follows the limits at /app/limits until ctx ends.
func serve(ctx context.Context, c *coord.Client, jobs <-chan string, apply func(Limits)) error {
	limits := config.New(c, "/app/limits", config.JSON[Limits]()).Watch(ctx)
	for {
		select {
		case u := <-limits.Updates():
			switch {
			case errors.Is(u.Err, config.ErrMissing):
				fmt.Println("no limits yet")
			case u.Err != nil:
				fmt.Println("kept:", u.Value)
			default:
				apply(u.Value)
			}
		case job := <-jobs:
			fmt.Println("job", job)
		case <-limits.Done():
			return limits.Err()
		}
	}
}

func ExampleValue_Watch() {
	ctx, cancel := context.WithCancelCause(context.Background())
	c, stop := connect(ctx)
	defer stop()

	text := config.New(c, "/app/limits", config.Text()) // as an operator sees it
	store := func(s string) {
		if _, err := text.Store(ctx, s); err != nil {
			log.Fatal(err)
		}
	}
	store(`{"Workers":4,"Queue":100}`)
	err := serve(ctx, c, nil, func(l Limits) {
		fmt.Println("now:", l)
		if l.Workers == 4 {
			store(`{"Workers":8,"Queue":100}`)
		} else {
			cancel(errors.New("seen enough"))
		}
	})
	fmt.Println(err)
	// Output:
	// now: {4 100}
	// now: {8 100}
	// watch /app/limits: seen enough
}

func ExampleValue_Modify() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()

	limits := config.New(c, "/app/limits", config.JSON[Limits]())
	more := func(l Limits) (Limits, error) {
		if l.Workers >= 2 {
			return l, errors.New("enough workers")
		}
		l.Workers++
		return l, nil
	}
	for range 3 {
		u, err := limits.Modify(ctx, more)
		if errors.Is(err, coord.ErrUnknown) {
			// Perhaps there is one more. Look, with Read, before asking again.
			log.Fatal(err)
		}
		fmt.Println(u.Value.Workers, err)
	}
	u, err := limits.Read(ctx)
	fmt.Println(u.Value, "version", u.Version, err)
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 0 modify /app/limits: enough workers
	// {2 0} version 1 <nil>
}

// A value that has a default, and is checked: a program never sees one that is not
// valid, and never stores one.
func ExampleCodec() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()

	codec := config.JSON[Limits]().Check(func(l Limits) error {
		if l.Workers < 1 || l.Workers > 64 {
			return fmt.Errorf("%d workers, want 1 to 64", l.Workers)
		}
		return nil
	})
	codec.Default = Limits{Workers: 4, Queue: 100}
	limits := config.New(c, "/app/limits", codec)

	u, err := limits.Read(ctx)
	fmt.Println(u.Value, errors.Is(err, config.ErrMissing))
	u, err = limits.Modify(ctx, func(l Limits) (Limits, error) {
		l.Workers *= 2
		return l, nil
	})
	fmt.Println(u.Value, err)
	_, err = limits.Store(ctx, Limits{Workers: 65})
	fmt.Println(err)
	// Output:
	// {4 100} true
	// {8 100} <nil>
	// store /app/limits: encode: 65 workers, want 1 to 64
}

func ExampleTree_Publish() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()

	// A database moves: nobody finds the new host with the old port.
	app := config.NewTree(c, "/app", config.Text())
	first := map[string]string{"db/host": "ada", "db/port": "5432", "db/standby": "ben"}
	then := map[string]string{"db/host": "ben", "db/port": "5433"}
	if _, err := app.Publish(ctx, first, nil); err != nil {
		log.Fatal(err)
	}
	stored, err := app.Publish(ctx, then, []string{"db/standby"})
	fmt.Println(stored["db/host"].Version, err)
	now, err := app.Read(ctx)
	for _, key := range []string{"db/host", "db/port", "db/standby"} {
		u, ok := now.Keys[key]
		fmt.Printf("%s %q %v\n", key, u.Value, ok)
	}
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// db/host "ben" true
	// db/port "5433" true
	// db/standby "" false
	// <nil>
}

func ExampleTree_Watch() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, stop := connect(ctx)
	defer stop()

	tree := config.NewTree(c, "/app/db", config.Text())
	if _, err := tree.Publish(ctx, map[string]string{"host": "ada", "port": "5432"}, nil); err != nil {
		log.Fatal(err)
	}
	for db := range tree.Watch(ctx).All() {
		// Host and port always belong together.
		fmt.Printf("%s:%s\n", db.Keys["host"].Value, db.Keys["port"].Value)
		break
	}
	// Output:
	// ada:5432
}

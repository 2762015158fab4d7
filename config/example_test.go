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

// Limits are what the examples keep.
type Limits struct{ Workers, Queue int }

// serve follows the limits at /app/limits until ctx ends.
func serve(ctx context.Context, c *coord.Client, jobs <-chan string, apply func(Limits)) error {
	limits := config.Watch(ctx, c, "/app/limits", config.JSON[Limits])
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

func ExampleWatch() {
	server, err := coordtest.Start() // in place of an ensemble
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	c, err := coord.Dial(context.Background(), []string{server.Addr()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	ctx, cancel := context.WithCancelCause(context.Background())
	store := func(text string) { // as an operator would
		err := config.Publish(ctx, c, "/app", map[string]string{"limits": text}, config.EncodeText)
		if err != nil {
			log.Fatal(err)
		}
	}
	store(`{"Workers":4,"Queue":100}`)
	err = serve(ctx, c, nil, func(l Limits) {
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

func ExampleModify() {
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

	more := func(l Limits) (Limits, error) {
		if l.Workers >= 2 {
			return l, errors.New("enough workers")
		}
		l.Workers++
		return l, nil
	}
	for range 3 {
		l, err := config.Modify(ctx, c, "/app/limits", config.JSON[Limits], config.EncodeJSON, more)
		if errors.Is(err, config.ErrUnknown) {
			// Perhaps there is one more. Look, with Read, before asking again.
			log.Fatal(err)
		}
		fmt.Println(l.Workers, err)
	}
	u, err := config.Read(ctx, c, "/app/limits", config.JSON[Limits])
	fmt.Println(u.Value, err)
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 0 modify /app/limits: enough workers
	// {2 0} <nil>
}

func ExamplePublish() {
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

	// A database moves: nobody finds the new host with the old port.
	first := map[string]string{"db/host": "ada", "db/port": "5432", "db/standby": "ben"}
	then := map[string]string{"db/host": "ben", "db/port": "5433"}
	fmt.Println(config.Publish(ctx, c, "/app", first, config.EncodeText))
	fmt.Println(config.Publish(ctx, c, "/app", then, config.EncodeText, "db/standby"))
	for _, key := range []string{"host", "port", "standby"} {
		u, err := config.Read(ctx, c, "/app/db/"+key, config.Text)
		fmt.Printf("%s %q %v\n", key, u.Value, errors.Is(err, config.ErrMissing))
	}
	// Output:
	// <nil>
	// <nil>
	// host "ben" false
	// port "5433" false
	// standby "" true
}

func ExampleTree() {
	server, err := coordtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	at := map[string]string{"host": "ada", "port": "5432"}
	if err := config.Publish(ctx, c, "/app/db", at, config.EncodeText); err != nil {
		log.Fatal(err)
	}
	for db := range config.Tree(ctx, c, "/app/db", config.Text).All() {
		// Host and port always belong together.
		fmt.Printf("%s:%s\n", db.Values["host"].Value, db.Values["port"].Value)
		break
	}
	// Output:
	// ada:5432
}

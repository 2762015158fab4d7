package coord_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"log"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
)

var (
	held    = expvar.NewInt("locks_held")           // a gauge
	lost    = expvar.NewMap("locks_lost")           // counters, by path
	seconds = expvar.NewMap("locks_waited_seconds") // a histogram: waits of at most 1 s, 10 s, and longer
)

func metrics() *coord.Trace {
	return &coord.Trace{
		WaitEnd: func(_ context.Context, i coord.HoldInfo) {
			switch s := i.Waited().Seconds(); {
			case s <= 1:
				seconds.Add("1", 1)
			case s <= 10:
				seconds.Add("10", 1)
			default:
				seconds.Add("+Inf", 1)
			}
		},
		HoldBegin: func(context.Context, coord.HoldInfo) { held.Add(1) },
		HoldEnd: func(_ context.Context, i coord.HoldInfo) {
			held.Add(-1)
			if i.Err != coord.ErrReleased {
				lost.Add(i.Path, 1)
			}
		},
	}
}

func ExampleTrace() {
	server, err := coordtest.Start() // in place of an ensemble
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	c, err := coord.Dial(ctx, []string{server.Addr()}, &coord.Options{Trace: metrics()})
	if err != nil {
		log.Fatal(err)
	}
	m := lock.New(c, "/reports/lock")
	err = m.Do(ctx, func(ctx context.Context, _ *coord.Hold) error {
		second := m.TryAcquire(context.Background()) // counts as waited for, and not as held
		fmt.Println(errors.Is(second.Wait(), coord.ErrLocked))
		server.Expire(c.Kit().Session().ID())
		<-ctx.Done()
		return nil
	})
	fmt.Println(coord.IsLost(err))
	c.Close() // all has been reported when it returns
	fmt.Println("held:", held)
	fmt.Println("lost:", lost)
	fmt.Println("waited:", seconds)
	// Output:
	// true
	// true
	// held: 0
	// lost: {"/reports/lock": 1}
	// waited: {"1": 2}
}

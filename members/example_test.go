package members_test

import (
	"context"
	"fmt"
	"log"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

// share serves as worker name, and gives serve the addresses of all workers
// whenever they change.
func share(ctx context.Context, c *coord.Client, name, addr string, serve func(addrs map[string]string)) error {
	g := members.New(c, "/shop/workers")
	me := g.Keep(ctx, members.Member{ID: name, Data: []byte(addr)})
	defer me.Leave(context.WithoutCancel(ctx))
	all := g.Watch(ctx)
	for {
		select {
		case view := <-all.Updates():
			addrs := make(map[string]string)
			for _, m := range view.Members {
				addrs[m.ID] = string(m.Data)
			}
			serve(addrs)
		case s := <-me.Updates():
			if !s.In {
				log.Print("the others do not see us: ", s.Err) // and will again
			}
		case <-me.Done(): // for good
			return me.Err()
		case <-all.Done():
			return all.Err()
		}
	}
}

func Example() {
	server, err := coordtest.Start() // in place of an ensemble
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

	done := make(chan error)
	go func() {
		done <- share(ctx, c, "ada", "10.0.0.1:80", func(addrs map[string]string) {
			if len(addrs) > 0 {
				fmt.Println(addrs)
				stop()
			}
		})
	}()
	<-done
	// Output:
	// map[ada:10.0.0.1:80]
}

func ExampleGroup_Await() {
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

	services := members.New(c, "/services")
	h := services.Join(ctx, members.Member{ID: "mail", Data: []byte("10.0.0.2:25")})
	defer h.Release(ctx)

	mail, err := services.Await(ctx, "mail") // until it is there
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(mail.Data))
	// Output:
	// 10.0.0.2:25
}

func ExampleView_Diff() {
	last := members.View{Members: []members.Member{{ID: "ada"}, {ID: "ben"}}}
	next := members.View{Members: []members.Member{{ID: "ben", Data: []byte("busy")}, {ID: "cleo"}}}
	joined, left, changed := next.Diff(last)
	fmt.Println(joined[0].ID, left[0].ID, changed[0].ID)
	// Output:
	// cleo ada ben
}

package members_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

// An instance is what a backend says of itself.
type instance struct {
	Addr    string
	Healthy bool
}

// serve announces an HTTP backend and, whenever that changes, its health, until ctx ends.
func serve(ctx context.Context, g *members.Group, id string, health <-chan bool) error {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, id) }))
	defer srv.Close()
	self := func(healthy bool) []byte {
		data, _ := json.Marshal(instance{srv.Listener.Addr().String(), healthy})
		return data
	}
	me := g.Keep(ctx, members.Member{ID: id, Data: self(true)})
	for {
		select {
		case healthy := <-health:
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			_ = me.SetData(short, self(healthy)) // while disconnected it goes on in the background
			cancel()
		case <-me.Done():
			return me.Err()
		case <-ctx.Done():
			wind, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
			defer cancel()
			return me.Leave(wind)
		}
	}
}

// A balancer sends each request to the next healthy instance.
type balancer struct {
	healthy atomic.Pointer[[]instance]
	next    atomic.Uint64
}

// update makes the balancer use the healthy ones of v, and returns how many there are.
func (b *balancer) update(v members.View) int {
	all, err := members.Decode(v, config.JSON[instance]().Decode)
	if err != nil {
		log.Print(err)
	}
	maps.DeleteFunc(all, func(_ string, i instance) bool { return !i.Healthy })
	healthy := slices.Collect(maps.Values(all))
	b.healthy.Store(&healthy)
	return len(healthy)
}

func (b *balancer) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	err = errors.New("no healthy instance")
	healthy := *b.healthy.Load()
	for i := 0; i < len(healthy) && err != nil; i++ { // one try each
		r = r.Clone(r.Context())
		r.URL.Host = healthy[int(b.next.Add(1))%len(healthy)].Addr
		resp, err = http.DefaultTransport.RoundTrip(r)
	}
	return resp, err
}

// Backends announce themselves with their health, and a client balances over the healthy.
func Example_discovery() {
	server, _ := coordtest.Start() // in place of an ensemble
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	c, err := coord.Dial(ctx, []string{server.Addr()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()
	g, health := members.New(c, "/services/web"), make(chan bool)
	running.Go(func() { serve(ctx, g, "ada", health) })
	running.Go(func() { serve(ctx, g, "ben", nil) })
	views, b := g.Watch(ctx), new(balancer)
	ask := func() string {
		resp, err := (&http.Client{Transport: b}).Get("http://web/")
		if err != nil {
			log.Fatal(err)
		}
		defer resp.Body.Close()
		name, _ := io.ReadAll(resp.Body)
		return string(name)
	}
	for b.update(<-views.Updates()) < 2 {
	}
	fmt.Println(map[string]bool{ask(): true, ask(): true})
	health <- false // of ada
	for b.update(<-views.Updates()) > 1 {
	}
	fmt.Println(ask(), ask())
	// Output:
	// map[ada:true ben:true]
	// ben ben
}

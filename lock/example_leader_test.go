package lock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
)

// A node is one instance of a service. One of them leads and does what is asked for;
// the others send requests on to it.
type node struct {
	addr   string
	c      *coord.Client
	m      *lock.Mutex
	leads  atomic.Bool
	leader atomic.Pointer[coord.Contender] // nil: nobody, or nobody knows for sure
}

// run campaigns until ctx ends.
func (n *node) run(ctx context.Context) error {
	n.m = lock.New(n.c, "/svc/leader", lock.Label(n.addr))
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return n.m.Run(ctx, n.lead) })
	both.Go(func() error { return n.follow(ctx) })
	return both.Wait()
}

func (n *node) lead(ctx context.Context, _ *coord.Hold) error {
	n.leads.Store(true)
	defer n.leads.Store(false)
	<-ctx.Done()
	return context.Cause(ctx)
}

func (n *node) follow(ctx context.Context) error {
	queues := n.m.Watch(ctx)
	for q := range queues.All() {
		n.leader.Store(nil)
		if !q.Suspended && len(q.Contenders) > 0 && q.Contenders[0].Token != 0 {
			n.leader.Store(&q.Contenders[0])
		}
	}
	return queues.Err()
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	leader := n.leader.Load()
	switch state, _ := n.c.State(); {
	case r.URL.Path == "/healthz" && state == coord.Connected:
		fmt.Fprint(w, state)
	case r.URL.Path == "/healthz":
		http.Error(w, state.String(), http.StatusServiceUnavailable)
	case r.URL.Path == "/leader":
		json.NewEncoder(w).Encode(leader)
	case n.leads.Load():
		fmt.Fprint(w, "done by ", n.addr)
	case leader == nil || leader.Label == n.addr:
		http.Error(w, "no leader", http.StatusServiceUnavailable)
	default:
		http.Redirect(w, r, "http://"+leader.Label+r.URL.Path, http.StatusTemporaryRedirect)
	}
}

// Requests reach the leader, by way of the others. While a node is cut off it sends
// nobody to a leader that may be another by now, itself least of all.
func TestLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := coordtest.NewServer(t)
		ctx, stop := context.WithCancelCause(t.Context())
		nodes := make([]*node, 3)
		var all errgroup.Group
		for i := range nodes {
			nodes[i] = &node{addr: fmt.Sprint("node", i), c: server.Client(t, nil)}
			all.Go(func() error { return nodes[i].run(ctx) })
			synctest.Wait()
		}
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			for i, n := range nodes {
				if got := n.ask("/do"); got != want[i] {
					t.Errorf("%s: node%d says %q, want %q", when, i, got, want[i])
				}
			}
		}
		const redirect0, redirect1, nobody = "307 http://node0/do", "307 http://node1/do", "503 no leader"
		expect("at first", "200 done by node0", redirect0, redirect0)

		heal := server.Stall(nodes[0].c, coordtest.Both)
		server.Stall(nodes[2].c, coordtest.Both)
		time.Sleep(7 * time.Second) // past their leases, and not past their sessions
		expect("while two are cut off", nobody, redirect0, nobody)
		if health := nodes[0].ask("/healthz"); health == "200 connected" {
			t.Errorf("health of node0: %s", health)
		}
		time.Sleep(7 * time.Second)
		expect("after their sessions", nobody, "200 done by node1", nobody)
		heal()
		time.Sleep(2 * time.Second)
		expect("when one is back", redirect1, "200 done by node1", nobody)
		if leader := nodes[0].ask("/leader"); !strings.Contains(leader, `"Label":"node1"`) {
			t.Errorf("leader: %s", leader)
		}
		enough := errors.New("enough")
		stop(enough)
		if err := all.Wait(); !errors.Is(err, enough) {
			t.Errorf("the nodes end with %v", err)
		}
	})
}

// ask returns the status and what a browser would look at.
func (n *node) ask(path string) string {
	w := httptest.NewRecorder()
	n.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if to := w.Header().Get("Location"); to != "" {
		return fmt.Sprint(w.Code, " ", to)
	}
	return fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
}

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/history"
)

// Options says what a run is like.
type Options struct {
	Nodes   int           // of the ensemble: 3 or 5
	Clients int           // client processes, at least 6
	For     time.Duration // how long faults come
	Seed    uint64        // which faults come
	Dir     string        // where the histories and the logs stay; it is created, and has none of another run
	// Timeout is that of the sessions. Zero means 4 s.
	Timeout time.Duration
	// Short has only a few faults come, each once, however long they take.
	Short bool
	// Logf gets what happens, a line at a time.
	Logf func(format string, args ...any)
}

// ticks are those of the servers in a session timeout.
const ticks = 8

// Run starts an ensemble and client processes, hurts them for a while, and then checks what
// they have recorded. The error says why the run did not come to its end; what is wrong with
// the library is in the Result, which is never nil.
func Run(ctx context.Context, opts Options) (*Result, error) {
	if opts.Timeout == 0 {
		opts.Timeout = 4 * time.Second
	}
	r := &Result{Options: opts, ServerLogs: make(map[string]int)}
	if opts.Nodes != 3 && opts.Nodes != 5 || opts.Clients < 2*sleepers {
		return r, fmt.Errorf("%d servers and %d client processes: want 3 or 5, and %d or more", opts.Nodes, opts.Clients, 2*sleepers)
	}
	began := time.Now()
	err := run(ctx, opts, r)
	r.Took = time.Since(began)
	if checking := r.check(); err == nil {
		err = checking
	}
	return r, err
}

func run(ctx context.Context, opts Options, r *Result) error {
	if err := os.MkdirAll(opts.Dir, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{"history", "logs", "clients"} {
		// What another run has left there would be taken for part of this one.
		if err := os.Mkdir(filepath.Join(opts.Dir, dir), 0o755); err != nil {
			return err
		}
	}
	servers, err := startServers(ctx, opts)
	if err != nil {
		return err
	}
	defer servers.Stop()
	// Not in opts.Dir, since the name of a socket must be short.
	sockets, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(sockets)
	socket := filepath.Join(sockets, "store")
	kept, err := newStore(socket)
	if err != nil {
		return err
	}
	defer kept.close()

	base := history.Uptime()
	file, err := os.Create(filepath.Join(opts.Dir, "history", "nemesis.jsonl"))
	if err != nil {
		return err
	}
	defer file.Close()
	n := &nemesis{
		ensemble: servers,
		store:    kept,
		timeout:  opts.Timeout,
		clock:    func() time.Duration { return history.Uptime() - base },
		logf:     func(format string, args ...any) {},
	}
	if opts.Logf != nil {
		n.logf = func(format string, args ...any) {
			opts.Logf("%7.1f "+format, append([]any{n.clock().Seconds()}, args...)...)
		}
	}
	n.record = history.NewRecorder(file, n.clock)
	if err := n.prepare(ctx); err != nil {
		return err
	}
	defer func() {
		for _, c := range n.children {
			c.end()
		}
	}()
	for id := range opts.Clients {
		c := &child{dir: opts.Dir, note: n.record, task: task{
			ID: id, Clients: opts.Clients,
			Servers: known(id, servers.Servers()),
			Local:   servers.ClientAddr(id),
			Timeout: opts.Timeout,
			Store:   socket,
			Base:    base,
			Seed:    opts.Seed,
		}}
		if err := c.start(); err != nil {
			return err
		}
		n.children = append(n.children, c)
	}
	for _, c := range n.children {
		select {
		case <-c.started:
		case <-time.After(time.Minute):
			return fmt.Errorf("client %s does not start", c.name())
		}
	}
	err = n.strike(ctx, opts)
	r.Kills, r.Restarts, r.halts = n.kills.Load(), n.restarts.Load(), n.halts
	if err != nil {
		return err
	}
	return errors.Join(n.finish(ctx, r), n.record.Err())
}

// known returns the servers that a client process knows. Every fourth knows only one: it
// cannot save itself by another when that one is cut off.
func known(id int, servers []string) []string {
	if id%4 == 3 {
		return servers[id/4%len(servers):][:1]
	}
	return servers
}

func startServers(ctx context.Context, opts Options) (*ensemble.Ensemble, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return ensemble.Start(ctx, &ensemble.Options{
		Nodes:      opts.Nodes,
		Tick:       opts.Timeout / ticks,
		Namespaces: true,
		Clients:    opts.Clients,
		Logs:       filepath.Join(opts.Dir, "logs"),
		JVM: []string{"-Xmx128m",
			// So that those that start anew do not wait long for one that is cut off.
			"-Dzookeeper.cnxTimeout=500",
			// Containers go while others would use them, those too that a client has
			// made and was killed before it used them.
			fmt.Sprintf("-Dznode.container.checkIntervalMs=%d", opts.Timeout.Milliseconds()),
			fmt.Sprintf("-Dznode.container.maxNeverUsedIntervalMs=%d", 4*opts.Timeout.Milliseconds()),
		},
		Config: map[string]string{
			// Longer than a session timeout, so that a leader that is cut off leads
			// its clients for longer than the others keep their sessions.
			"syncLimit": strconv.Itoa(2 * ticks),
			"initLimit": strconv.Itoa(10 * ticks),
		},
	})
}

// strike hurts servers and clients until it is time to stop, and heals all.
func (n *nemesis) strike(ctx context.Context, opts Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	servers, clients, sleepers := n.track("servers", opts.Seed), n.track("clients", opts.Seed), n.track("sleepers", opts.Seed)
	var striking sync.WaitGroup
	hand := func(f func() error) {
		striking.Go(func() {
			if err := f(); err != nil {
				cancel(err)
			}
		})
	}
	var stop context.CancelFunc
	if opts.Short {
		n.ctx, stop = context.WithCancel(ctx)
		hand(func() error {
			defer stop()
			return servers.few()
		})
	} else {
		n.ctx, stop = context.WithTimeout(ctx, opts.For)
		hand(func() error { return servers.servers(serverBlows()) })
		hand(func() error { return clients.clients(clientBlows()) })
		hand(sleepers.sleepers)
	}
	defer stop()
	striking.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return servers.settle()
}

// few strikes each once: the leader is killed, a holder is stopped, the next leader is
// isolated, and a client is killed.
func (t *track) few() error {
	for _, strike := range []func() error{
		t.killLeader, t.settle,
		t.stopOne,
		func() error { return t.isolateLeader(ensemble.Reset) }, t.settle,
		t.killClient,
	} {
		if err := strike(); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the znodes that stay.
func (n *nemesis) prepare(ctx context.Context) error {
	c, err := n.operator(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, path := range kept() {
		if _, err := c.Create(ctx, path, nil, coord.Persistent); err != nil && !errors.Is(err, coord.ErrNodeExists) {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	return nil
}

// operator returns a client that no fault hits but those of all servers.
func (n *nemesis) operator(ctx context.Context) (*coord.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return coord.Dial(ctx, n.ensemble.Servers(), &coord.Options{SessionTimeout: n.timeout})
}

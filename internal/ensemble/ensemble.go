package ensemble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Options says what to start. Nil and zero mean one standalone server.
type Options struct {
	// Nodes is the number of servers, 1, 3 or 5. Zero means 1.
	Nodes int
	// Tick is the server's unit of time, whole milliseconds. A session's
	// timeout is at least 2 and at most 20 ticks, and sessions expire at
	// multiples of a tick. Zero means two seconds.
	Tick time.Duration
	// Namespaces makes each server run in a network namespace of its own, so that
	// Isolate can cut it off from the others. That takes root.
	Namespaces bool
	// Relays makes the servers follow each other by way of this process, so that
	// Lag can hold up what a follower is to do. It does not go with Namespaces.
	Relays bool
	// Clients is how many addresses there are for client programs, so that Cut can tell
	// them apart: see ClientAddr. That takes Namespaces; at most 100.
	Clients int
	// Logs is a directory in which the logs of the servers stay, a file for each life of
	// each server, with what they say of elections and of catching up with the leader.
	// Empty means that a log lasts as long as its server.
	Logs string
	// Secure has each server listen for TLS too, at Node.SecureAddr. What that takes
	// of keys is for Config to say.
	Secure bool
	// Reconfigurable has the servers tell clients of each other, and take changes of the
	// list while they run. That takes 3.5.
	Reconfigurable bool
	// JVM is appended to the flags of java, so it overrides.
	JVM []string
	// Config is added to zoo.cfg and overrides what it says.
	Config map[string]string
}

func (o *Options) nodes() int {
	if o == nil || o.Nodes == 0 {
		return 1
	}
	return o.Nodes
}

func (o *Options) tick() time.Duration {
	if o == nil || o.Tick == 0 {
		return 2 * time.Second
	}
	return o.Tick
}

func (o *Options) namespaces() bool { return o != nil && o.Namespaces }

// Ensemble is a set of servers that are started and stopped together.
type Ensemble struct {
	dir   string
	nodes []*Node
	net   *network // nil without Options.Namespaces
	// By server, and by leader; nil without Options.Relays.
	relays [][]*relay
}

// Start starts servers and waits until all of them serve; ctx bounds that and
// nothing after. If it fails, nothing is left running. The caller must call
// Stop.
func Start(ctx context.Context, opts *Options) (*Ensemble, error) {
	if n := opts.nodes(); n != 1 && n != 3 && n != 5 {
		return nil, fmt.Errorf("ensemble of %d servers: want 1, 3 or 5", n)
	}
	if opts.namespaces() && opts.Relays {
		return nil, errors.New("ensemble with both Namespaces and Relays")
	}
	inst, err := find()
	if err != nil {
		return nil, err
	}
	if opts.namespaces() {
		if err := Separable(); err != nil {
			return nil, err
		}
	}
	for {
		e, err := start(ctx, inst, opts)
		// Between the choice of a port and the server's bind another process
		// can take it. Other ports then, as often as ctx allows.
		if !errors.Is(err, errPortTaken) || ctx.Err() != nil {
			return e, err
		}
	}
}

func start(ctx context.Context, inst installation, opts *Options) (*Ensemble, error) {
	dir, err := os.MkdirTemp("", "zookeeper-")
	if err != nil {
		return nil, err
	}
	e := &Ensemble{dir: dir}
	if err := e.configure(inst, opts); err != nil {
		e.Stop()
		return nil, err
	}
	for _, n := range e.nodes {
		if err := n.Launch(); err != nil {
			e.Stop()
			return nil, err
		}
	}
	// All of them, not those that WaitServing takes to be running: one that has
	// ended by now is a failure.
	if err := waitServing(ctx, e.nodes); err != nil {
		e.Stop()
		return nil, err
	}
	return e, nil
}

// Stop kills the servers, waits for their end and removes their data. A second
// call does nothing.
func (e *Ensemble) Stop() {
	var killing sync.WaitGroup
	for _, n := range e.nodes {
		killing.Go(n.Kill)
	}
	killing.Wait()
	for _, relays := range e.relays {
		for _, r := range relays {
			r.close()
		}
	}
	if e.net != nil {
		e.net.close()
	}
	_ = os.RemoveAll(e.dir) // at worst it stays in the directory for temporary files
}

// Servers returns the addresses of all servers, running or not.
func (e *Ensemble) Servers() []string {
	var addrs []string
	for _, n := range e.nodes {
		addrs = append(addrs, n.addr)
	}
	return addrs
}

// Nodes returns all servers, running or not.
func (e *Ensemble) Nodes() []*Node { return slices.Clone(e.nodes) }

// Node returns a server, counted from 0.
func (e *Ensemble) Node(i int) *Node { return e.nodes[i] }

// Leader returns the server that says it leads, or is standalone; nil if none
// does now. Of two that say so, as when a frozen leader is thawed, it is the
// one of the later epoch.
func (e *Ensemble) Leader() *Node {
	var leader *Node
	var latest uint64
	for n, s := range e.states() {
		if s.mode == "leader" || s.mode == "standalone" {
			if leader == nil || s.zxid > latest {
				leader, latest = n, s.zxid
			}
		}
	}
	return leader
}

// Followers returns the servers that say they follow now.
func (e *Ensemble) Followers() []*Node {
	states := e.states()
	return slices.DeleteFunc(e.Nodes(), func(n *Node) bool { return states[n].mode != "follower" })
}

type state struct {
	mode string
	zxid uint64
}

// states asks the servers that run, all at once.
func (e *Ensemble) states() map[*Node]state {
	nodes := e.running()
	answers := make([]state, len(nodes))
	var asking sync.WaitGroup
	for i, n := range nodes {
		asking.Go(func() { answers[i].mode, answers[i].zxid = n.mode(time.Second) })
	}
	asking.Wait()
	states := make(map[*Node]state)
	for i, n := range nodes {
		states[n] = answers[i]
	}
	return states
}

// running returns the servers that are neither killed nor frozen.
func (e *Ensemble) running() []*Node {
	return slices.DeleteFunc(e.Nodes(), func(n *Node) bool { return !n.running() })
}

// WaitServing waits until all servers serve that are neither killed nor frozen.
// It fails if one of them ends in the meantime.
func (e *Ensemble) WaitServing(ctx context.Context) error {
	return waitServing(ctx, e.running())
}

func waitServing(ctx context.Context, nodes []*Node) error {
	for _, n := range nodes {
		if err := n.waitServing(ctx); err != nil {
			return err
		}
	}
	return nil
}

package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/history"
)

// clientEnv tells a program that it is a client process, and what it is to do.
const clientEnv = "ZKCOORD_CHAOS_CLIENT"

// A task is what a client process is told.
type task struct {
	ID, Life, Clients int
	Servers           []string
	Local             string // the address from which it connects
	Timeout           time.Duration
	History, Store    string
	Base              time.Duration // of the history, by [history.Uptime]
	Seed              uint64
}

// What the nemesis says to a client process, on its standard input, and what that answers,
// a line each. The end of the input ends the process.
const (
	started  = "started"  // which it says without being told
	calm     = "calm"     // no more faults come: say so when every actor has done something since
	stop     = "stop"     // end what changes something
	converge = "converge" // say so when what is followed has come to what is stored
	end      = "end"      // end what follows
	leave    = "leave"    // close the sessions, and end the process
)

// Main is what a client process does. In any other it returns at once. A program that
// calls [Run] calls it first.
func Main() {
	text := os.Getenv(clientEnv)
	if text == "" {
		return
	}
	var t task
	err := json.Unmarshal([]byte(text), &t)
	if err == nil {
		err = serve(t)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A client is a client process.
type client struct {
	task
	record *history.Recorder
	// Each phase ends when the nemesis says so.
	calm, settling   chan struct{}
	working, looking context.Context
	stop, end        context.CancelCauseFunc
	actors           []*actor
	acting, watching sync.WaitGroup
}

func serve(t task) error {
	file, err := os.OpenFile(t.History, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	c := &client{
		task:     t,
		record:   history.NewRecorder(file, func() time.Duration { return history.Uptime() - t.Base }),
		calm:     make(chan struct{}),
		settling: make(chan struct{}),
	}
	c.working, c.stop = context.WithCancelCause(context.Background())
	c.looking, c.end = context.WithCancelCause(context.Background())

	told := make(chan string)
	go func() { // ends with the process
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			told <- lines.Text()
		}
		os.Exit(2) // the nemesis is gone
	}()
	sessions, err := c.dial()
	if err != nil {
		return err
	}
	for i, r := range roles(t.ID, t.Clients) {
		a, err := c.actor(r, sessions[i%len(sessions)])
		if err != nil {
			return err
		}
		c.actors = append(c.actors, a)
	}
	for _, a := range c.actors {
		if a.lingers() {
			c.watching.Go(a.act)
		} else {
			c.acting.Go(a.act)
		}
	}
	fmt.Println(started)
	for phase := range told {
		if err := c.enter(phase); err != nil {
			return err
		}
		if phase == leave {
			break
		}
		fmt.Println(phase) // done
	}
	for _, s := range sessions {
		if err := s.Close(); err != nil {
			return err
		}
	}
	return c.record.Err()
}

// dial opens the sessions of the process, one to three.
func (c *client) dial() ([]*coord.Client, error) {
	dialer := &net.Dialer{}
	if c.Local != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(c.Local)}
	}
	var sessions []*coord.Client
	for i := range 1 + c.ID%3 {
		s, err := coord.Dial(context.Background(), c.Servers, &coord.Options{
			SessionTimeout: c.Timeout,
			Dial:           dialer.DialContext,
			Logger:         slog.New(slog.NewTextHandler(os.Stderr, nil)).With("client", fmt.Sprintf("%s-%d", processName(c.ID, c.Life), i)),
		})
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// actor returns the actor that does what r says.
func (c *client) actor(r role, s *coord.Client) (*actor, error) {
	to, err := dialStore(c.Store)
	if err != nil {
		return nil, err
	}
	name := actorName(processName(c.ID, c.Life), r)
	seed := c.Seed
	for _, b := range []byte(name) {
		seed = seed*31 + uint64(b)
	}
	a := &actor{
		client:    c,
		role:      r,
		name:      name,
		session:   s,
		store:     to,
		rng:       rand.New(rand.NewPCG(c.Seed, seed)),
		proceeded: make(chan struct{}),
		converged: make(chan struct{}),
	}
	if !a.lingers() || r == member {
		close(a.converged) // it shows nothing
	}
	return a, nil
}

// patience is how long a client takes for a phase: what it has to do then takes less than
// two session timeouts, and some more on a busy machine.
const patience = 90 * time.Second

// errPhase is why the actors end.
var errPhase = fmt.Errorf("the run is over")

// enter begins a phase, and waits until the client has done what that asks for.
func (c *client) enter(phase string) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	switch phase {
	case calm:
		close(c.calm)
		for _, a := range c.actors {
			select {
			case <-a.proceeded:
			case <-timer.C:
				return fmt.Errorf("%s does not proceed %v after the last fault", a.name, patience)
			}
		}
	case stop:
		c.stop(errPhase)
		return c.wait(&c.acting, timer, "the actors have not stopped")
	case converge:
		close(c.settling)
		for _, a := range c.actors {
			select {
			case <-a.converged:
			case <-timer.C:
				return fmt.Errorf("%s does not show what is stored after %v", a.name, patience)
			}
		}
	case end:
		c.end(errPhase)
		return c.wait(&c.watching, timer, "the followers have not stopped")
	}
	return nil
}

// wait waits for all of group.
func (c *client) wait(group *sync.WaitGroup, timer *time.Timer, otherwise string) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("%s after %v", otherwise, patience)
	}
}

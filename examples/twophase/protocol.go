package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
)

const (
	root         = "/twophase"
	transactions = root + "/transactions"
)

// reached is called at each step. Tests kill the process there.
var reached = func(step string) {}

// A transfer says what is added to the balance of each participant.
type transfer map[string]int64

// A transaction is what the ensemble knows of one.
type transaction struct {
	id, path  string
	gone      bool // and what follows is not known
	amounts   transfer
	children  []string
	votes     map[string]bool
	committed bool
	done      map[string]bool
}

// A deed is what a coordinator does next.
type deed int

const (
	wait   deed = iota
	commit      // all have voted yes
	abort       // one has voted no, or not in time
	forget      // all have carried it out
)

// next returns what the coordinator does next. It is late when the votes should be there.
func (t transaction) next(late bool) deed {
	yes, done, refused := 0, 0, false
	for name := range t.amounts {
		vote, voted := t.votes[name]
		switch {
		case vote:
			yes++
		case voted:
			refused = true
		}
		if t.done[name] {
			done++
		}
	}
	switch {
	case t.committed && done == len(t.amounts):
		return forget
	case t.committed:
		return wait
	case refused:
		return abort
	case yes == len(t.amounts):
		return commit
	case late:
		return abort
	}
	return wait
}

// look reads a transaction. What it returns may be old, and is never wrong by that: what is
// done on the ground of it is refused if something has changed.
func look(ctx context.Context, c *coord.Client, id string) (transaction, error) {
	t := transaction{id: id, path: transactions + "/" + id, votes: make(map[string]bool), done: make(map[string]bool)}
	data, _, err := c.Get(ctx, t.path)
	if err == nil {
		if err := json.Unmarshal(data, &t.amounts); err != nil {
			return t, err
		}
		t.children, _, err = c.Children(ctx, t.path)
	}
	for _, child := range t.children {
		kind, name, _ := strings.Cut(child, "-")
		switch kind {
		case "vote":
			if data, _, err = c.Get(ctx, t.path+"/"+child); err == nil {
				t.votes[name] = string(data) == "yes"
			}
		case "commit":
			t.committed = true
		case "done":
			t.done[name] = true
		}
		if err != nil {
			break
		}
	}
	if errors.Is(err, coord.ErrNoNode) {
		return transaction{id: id, path: t.path, gone: true}, nil
	}
	return t, err
}

// outdated reports whether err, from a transaction of the ensemble, means that it makes sense
// to look again: something has changed since the last look, or it is unknown whether it has.
func outdated(err error) bool {
	if errors.Is(err, coord.ErrNotHeld) {
		return false
	}
	for _, why := range []error{coord.ErrUnknown, coord.ErrNoNode, coord.ErrNodeExists, coord.ErrNotEmpty} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

// watch calls step, at first and whenever the children of a transaction have changed, or
// again has a value, until step reports that there is nothing more to do. If what step has
// done was refused because its look was too old, step is called again.
func watch(ctx context.Context, c *coord.Client, id string, again <-chan time.Time, step func() (over bool, err error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	children := c.Watch(ctx, transactions+"/"+id, event.Children)
	for {
		over, err := step()
		switch {
		case errors.Is(err, coord.ErrNotHeld): // which the Hold will know in a moment
			<-ctx.Done()
			return context.Cause(ctx)
		case outdated(err):
			if err := c.Sync(ctx, transactions); err != nil {
				return err
			}
			continue
		case err != nil || over:
			return err
		}
		select {
		case <-children.Updates():
		case <-again:
		case <-children.Done():
			return children.Err()
		}
	}
}

// each calls f, on a goroutine of its own, for every transaction, those known first, until
// ctx ends or an f fails. If a transaction is listed again after f has begun, f is called for
// it again when it has returned: it may have been deleted and, by a create of which the first
// answer was lost, made once more.
func each(ctx context.Context, c *coord.Client, known []string, f func(ctx context.Context, id string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	begun := make(map[string]bool) // of those that f is called for, whether they are listed again
	begin := func(id string) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := begun[id]; ok {
			begun[id] = true
			return
		}
		begun[id] = false
		g.Go(func() error {
			for again := true; again; {
				if err := f(ctx, id); err != nil {
					return err
				}
				mu.Lock()
				if again = begun[id]; again {
					begun[id] = false
				} else {
					delete(begun, id)
				}
				mu.Unlock()
			}
			return nil
		})
	}
	for _, id := range known {
		begin(id)
	}
	g.Go(func() error {
		all := c.Watch(ctx, transactions, event.Children)
		for snap := range all.All() {
			for _, id := range snap.Children {
				begin(id)
			}
		}
		return all.Err()
	})
	return g.Wait()
}

// prepare makes the directories.
func prepare(ctx context.Context, c *coord.Client) error {
	for _, path := range []string{root, transactions} {
		if err := create(ctx, c, path, nil); err != nil {
			return err
		}
	}
	return nil
}

func newID() string { return rand.Text() }

// propose begins a transaction.
func propose(ctx context.Context, c *coord.Client, id string, t transfer) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return create(ctx, c, transactions+"/"+id, data)
}

// create creates a znode, again if it is unknown whether it has. Of a transaction that was
// carried out and forgotten meanwhile no harm comes: its participants remember it.
func create(ctx context.Context, c *coord.Client, path string, data []byte) error {
	for {
		_, err := c.Create(ctx, path, data, coord.Persistent)
		switch {
		case errors.Is(err, coord.ErrNodeExists):
			return nil
		case !errors.Is(err, coord.ErrUnknown) || ctx.Err() != nil:
			return err
		}
	}
}

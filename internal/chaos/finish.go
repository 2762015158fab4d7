package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/history"
)

// finish waits until everybody has gone on after the last fault, has everything end, and
// looks at what is left. What is wrong is added to the violations of r.
func (n *nemesis) finish(ctx context.Context, r *Result) error {
	n.logf("no more faults")
	for _, phase := range []string{calm, stop} {
		if err := tell(n.children, phase); err != nil {
			r.wrong("progress", err.Error())
			return nil
		}
		n.logf("%s", phase)
	}
	c, err := n.operator(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := n.final(ctx, c); err != nil {
		return err
	}
	for _, phase := range []string{converge, end} {
		if err := tell(n.children, phase); err != nil {
			r.wrong("convergence", err.Error())
			return nil
		}
		n.logf("%s", phase)
	}
	// The sessions are there still, and so are watches that will be used up by the next
	// change. Nobody may ask for another then.
	for _, path := range n.watches() {
		if err := n.change(ctx, c, path); err != nil {
			return err
		}
	}
	if left := n.eventually(10*time.Second, n.watches); len(left) > 0 {
		r.wrong("watches", fmt.Sprintf("%d watches are left: %q", len(left), left))
	}
	if err := tell(n.children, leave); err != nil {
		r.wrong("end", err.Error())
		return nil
	}
	n.logf("%s", leave)
	if err := n.items(ctx, c, r); err != nil {
		return err
	}
	// Containers go one level at a time.
	left := n.eventually(90*time.Second, func() []string { return n.leftovers(ctx, c) })
	if len(left) > 0 {
		r.wrong("znodes", fmt.Sprintf("%d znodes are left: %q", len(left), left))
	}
	return nil
}

// eventually waits until look returns nothing, and returns what it returned last.
func (n *nemesis) eventually(patience time.Duration, look func() []string) []string {
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		if left := look(); len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// final records what the value and the counter are when nobody changes them any more.
func (n *nemesis) final(ctx context.Context, c *coord.Client) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	value, err := config.New(c, valuePath, config.Text()).Read(ctx)
	if err != nil {
		return err
	}
	sum, err := config.NewCounter(c, counterPath).Get(ctx)
	if err != nil {
		return err
	}
	for i, e := range []history.Event{
		{Recipe: history.Config, Path: valuePath, Value: value.Value},
		{Recipe: history.Counter, Path: counterPath, Value: strconv.FormatInt(sum, 10)},
	} {
		e.Proc, e.F, e.Op = "operator", history.Final, int64(i)
		call := e
		call.Kind, call.Value, e.Kind = history.Call, "", history.OK
		n.record.Record(call)
		n.record.Record(e)
	}
	return nil
}

// watches returns the paths that are watched at the servers, by the clients that are left.
func (n *nemesis) watches() (paths []string) {
	for _, node := range n.ensemble.Nodes() {
		text, err := node.Command("wchp")
		if err != nil {
			return []string{err.Error()}
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "/") {
				paths = append(paths, strings.TrimSpace(line))
			}
		}
	}
	return paths
}

// change changes all that can be watched of the znode at path, and in the end removes it,
// unless it stays.
func (n *nemesis) change(ctx context.Context, c *coord.Client, path string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s := c.Kit().Session()
	if err := s.CreateAll(ctx, path+"/child"); err != nil {
		return fmt.Errorf("change %s: %w", path, err)
	}
	if _, err := s.Set(ctx, path, nil, -1); err != nil {
		return fmt.Errorf("change %s: %w", path, err)
	}
	for p := path + "/child"; !slices.Contains(kept(), p) && p != "/"; p = p[:strings.LastIndexByte(p, '/')] {
		if err := s.Delete(ctx, p, -1); err != nil && !errors.Is(err, coord.ErrNoNode) {
			break // it has other children
		}
	}
	return nil
}

// leftovers returns the znodes that a recipe has left. An empty directory of package config
// may be one of a client that was killed in the middle of making it.
func (n *nemesis) leftovers(ctx context.Context, c *coord.Client) (paths []string) {
	stays := append(kept(), "/", "/zookeeper", "/_zkcoord", valuePath, counterPath)
	var walk func(path string)
	walk = func(path string) {
		names, _, err := c.Children(ctx, path)
		if err != nil {
			return // gone in the meantime
		}
		if !slices.Contains(stays, path) {
			paths = append(paths, path)
		}
		for _, name := range names {
			child := strings.TrimSuffix(path, "/") + "/" + name
			if child != "/zookeeper" && path != queuePath+"/ids" && path != queuePath+"/items" && path != queuePath+"/results" {
				walk(child)
			}
		}
	}
	walk("/")
	return paths
}

// items checks that each item that was put has one result, or is in the queue still.
func (n *nemesis) items(ctx context.Context, c *coord.Client, r *Result) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	results, _, err := c.Children(ctx, queuePath+"/results")
	if err != nil {
		return err
	}
	names, _, err := c.Children(ctx, queuePath+"/items")
	if err != nil {
		return err
	}
	r.queued = make(map[string]int)
	for _, id := range results {
		r.queued[id]++
	}
	for _, name := range names {
		id, _, err := c.Get(ctx, queuePath+"/items/"+name)
		if err != nil {
			return err
		}
		r.queued[string(id)]++
	}
	return nil
}

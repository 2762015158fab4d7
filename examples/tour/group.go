package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

const workers = "/workers" // the group

// An onlooker watches the group.
type onlooker struct {
	name  string
	story *story

	mu     sync.Mutex
	view   members.View
	leader string        // where the service is
	change chan struct{} // closed and replaced when one of these changes
}

// watch tells of each change until ctx ends.
func (o *onlooker) watch(ctx context.Context, g *members.Group) {
	views := g.Watch(ctx)
	for view := range views.All() {
		o.mu.Lock()
		_, left, _ := view.Diff(o.view)
		o.view = view
		o.changed()
		o.mu.Unlock()
		text := ids(view.Members)
		if len(left) > 0 {
			text += ", and no longer " + ids(left)
		}
		o.story.say(o.name, sees, "%s", text)
	}
	if ctx.Err() == nil {
		o.story.fail(views.Err())
	}
}

// changed tells those who wait. It is called with o.mu held.
func (o *onlooker) changed() {
	close(o.change)
	o.change = make(chan struct{})
}

func ids(list []members.Member) string {
	if len(list) == 0 {
		return "nobody"
	}
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.ID
	}
	return strings.Join(names, " ")
}

// await waits until id is in the group, or is not, as o sees it.
func (o *onlooker) await(ctx context.Context, id string, in bool, why string) {
	o.until(ctx, why, func() bool {
		_, is := o.view.Member(id)
		return is == in
	})
}

// until waits until what o sees is as wanted.
func (o *onlooker) until(ctx context.Context, why string, wanted func() bool) {
	progress := time.NewTicker(time.Second)
	defer progress.Stop()
	for o.story.failure() == nil {
		o.mu.Lock()
		is, change := wanted(), o.change
		o.mu.Unlock()
		if is {
			return
		}
		select {
		case <-change:
		case <-progress.C:
			o.story.aside("... waiting for " + why)
		case <-ctx.Done():
			o.story.fail(fmt.Errorf("%w, while waiting for %s", context.Cause(ctx), why))
		}
	}
}

// announce makes c a member of the group, for as long as its program runs.
func (c *contender) announce(ctx context.Context) {
	c.member = members.New(c.client, workers).Keep(ctx, members.Member{ID: c.name})
}

// kill ends c's program without a goodbye: the ensemble hears no more of it.
func (s *script) kill(c *contender) {
	c.link.Stall(coordtest.Both) // for good
	s.turns.Go(func() { c.client.Close() })
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/members"
)

const (
	sessionTimeout = 4 * time.Second  // the least that servers with a tick of 2 s grant
	patience       = 18 * time.Second // with the tour, besides three session timeouts
	blip           = 500 * time.Millisecond
)

// A tour is one run of the story.
type tour struct {
	out     io.Writer
	colors  bool
	servers []string
	where   string // what the reader is told of servers
	root    string // below which all happens
	// dial reaches the servers. Nil means TCP.
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// run tells the story, and returns what went wrong.
func (t *tour) run(ctx context.Context) (err error) {
	fmt.Fprintf(t.out, "Four contenders, each with its own session, queue for one lock. eve is only a\nmember of their group, and fay watches the group. A token is the number of the\ntransaction that made the holder's znode: each is greater than those before.\nServer: %s\n", t.where)
	site, err := t.build(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.clear(ctx)) }()
	fmt.Fprintf(t.out, "Session timeout: %v\n\n    ms  who   sees or does\n", site.timeout)
	limit := patience + 3*site.timeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit))
	defer cancel()
	s := &script{tour: t, site: site, story: newStory(t.out, t.colors), store: new(store)}
	defer s.end()
	for i, name := range []string{"ada", "ben", "cleo", "dan", "eve"} {
		if s.cast[i], err = s.join(ctx, name); err != nil {
			return err
		}
	}
	s.story.start = time.Now() // connecting is no part of it
	s.fay = &onlooker{name: "fay", story: s.story, change: make(chan struct{})}
	s.cue(ctx, func(ctx context.Context) { s.fay.watch(ctx, members.New(site.client, site.chroot+workers)) })
	if err := s.play(ctx); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "\nAll as promised, in %.1f s. LOST came %s before the next ACQUIRED.\n",
		time.Since(s.story.start).Seconds(), ms(s.story.margin))
	return nil
}

// A script makes things happen, and waits for what must follow.
type script struct {
	*tour
	site  *site
	story *story
	store *store
	cast  [5]*contender
	fay   *onlooker
	ends  []func() // to be done before the curtain falls
	turns sync.WaitGroup
}

// join connects a contender.
func (s *script) join(ctx context.Context, name string) (*contender, error) {
	link := coordtest.NewLink(s.dial)
	client, err := coord.Dial(ctx, s.servers, &coord.Options{
		SessionTimeout: sessionTimeout,
		Chroot:         s.site.chroot,
		Dial:           link.Dial,
	})
	if err != nil {
		link.Close()
		return nil, err
	}
	c := &contender{name: name, link: link, client: client, store: s.store, story: s.story}
	c.pace.Store(int64(slow))
	return c, nil
}

// A turn is one run of a contender.
type turn struct {
	end  context.CancelCauseFunc // of its context
	hold chan *coord.Hold        // what run returns
}

func (s *script) start(ctx context.Context, c *contender) turn { return s.begin(ctx, c, c.run) }

// share makes c ask for the shared lock.
func (s *script) share(ctx context.Context, c *contender, a access) turn {
	return s.begin(ctx, c, func(ctx context.Context) *coord.Hold { return c.share(ctx, a) })
}

// cue has act go on beside the others, until the context that it is given ends.
func (s *script) cue(ctx context.Context, act func(context.Context)) (end context.CancelCauseFunc) {
	ctx, end = context.WithCancelCause(ctx)
	s.ends = append(s.ends, func() { end(errors.New("the tour is over")) })
	s.turns.Go(func() { act(ctx) })
	return end
}

func (s *script) begin(ctx context.Context, c *contender, run func(context.Context) *coord.Hold) turn {
	t := turn{hold: make(chan *coord.Hold, 1)}
	t.end = s.cue(ctx, func(ctx context.Context) {
		hold := run(ctx)
		select {
		case <-hold.Lost():
			if !c.doomed.Load() {
				s.story.fail(fmt.Errorf("%s has lost the lock: %w", c.name, hold.Err()))
			}
		default:
		}
		t.hold <- hold
	})
	return t
}

// end has everybody leave, healthy, so that they can say goodbye.
func (s *script) end() {
	for _, end := range s.ends {
		end()
	}
	s.turns.Wait()
	var closing sync.WaitGroup
	for _, c := range s.cast {
		if c != nil {
			closing.Go(func() {
				c.client.Close()
				c.link.Close()
			})
		}
	}
	closing.Wait()
}

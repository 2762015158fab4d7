package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock/leader"
)

// play is the story, chapter by chapter.
func (s *script) play(ctx context.Context) error {
	ada, ben, cleo, dan, eve := s.cast[0], s.cast[1], s.cast[2], s.cast[3], s.cast[4]
	var adas, bens, cleos, dans turn
	var bens1 *coord.Hold // the one that ben loses
	heal := func() {}
	cleosAccess := access{make(chan struct{})}
	await := func(who *contender, what moment, why string) { s.story.await(ctx, who.name, what, why) }
	seen := func(who *contender, there bool, why string) { s.fay.await(ctx, who.name, there, why) }

	chapters := []struct {
		title string
		play  func()
	}{{
		"1. All five announce themselves. fay, who watches, sees them come.",
		func() {
			for _, who := range s.cast {
				who.announce(ctx)
				seen(who, true, "fay to see "+who.name)
			}
		},
	}, {
		"2. A free lock is acquired at once. The others queue, each behind one other.",
		func() {
			adas = s.start(ctx, ada)
			await(ada, writes, "ada to have the lock")
			bens = s.start(ctx, ben)
			await(ben, waits, "ben to be in the queue")
			cleos = s.start(ctx, cleo)
			await(cleo, waits, "cleo to be in the queue")
			dans = s.start(ctx, dan)
			await(dan, waits, "dan to be in the queue")
			await(ada, writes, "ada to do some work")
		},
	}, {
		"3. cleo's context is canceled while she waits: she leaves, from the middle.",
		func() {
			cleos.end(errors.New("cleo had enough"))
			await(dan, waits, "dan to see that cleo is out of the queue")
			<-cleos.hold
			if err := cleo.member.Leave(ctx); err != nil {
				s.story.fail(err)
			}
			seen(cleo, false, "fay to see that cleo has gone")
			await(ada, writes, "ada to do some work")
		},
	}, {
		"4. ada's work is done. She releases, and the next has the lock.",
		func() {
			adas.end(errors.New("work done"))
			await(ada, releases, "ada to stop her work")
			await(ben, acquired, "ben to have the lock")
			await(ben, writes, "ben to work")
			await(ben, writes, "ben to work")
		},
	}, {
		"5. A setting changes while ben works: dan, who waits, doubles the pace.",
		func() {
			now, err := setting(dan.client).Modify(ctx, func(ms int) (int, error) { return ms / 2, nil })
			if err != nil {
				s.story.fail(err)
				return
			}
			dan.say(sets, "%s to %d ms", pace, now.Value)
			await(ben, adjusts, "ben to see it")
			await(ben, writes, "ben to work on")
			await(ben, writes, "ben to work on")
		},
	}, {
		"6. A blip: ben's connection breaks, for half a second. He keeps the lock.",
		func() {
			heal = ben.link.Cut()
			await(ben, suspended, "ben to notice")
			s.pass(ctx, blip)
			heal()
			await(ben, connected, "ben to reconnect")
			await(ben, writes, "ben to work on")
		},
	}, {
		"7. A partition: from now on nothing reaches ben, and nothing comes from him.\n" +
			"   He must be told LOST before anyone else can have the lock. And eve's\n" +
			"   program is killed.",
		func() {
			ben.doomed.Store(true)
			s.kill(eve)
			heal = ben.link.Stall(coordtest.Both)
			await(ben, suspended, "ben to notice the silence")
			await(ben, lost, "the end of ben's lease")
			await(dan, acquired, fmt.Sprintf("the server to end ben's session, after %v or more", s.site.timeout))
			await(dan, writes, "dan to work")
			seen(ben, false, "fay to see that ben is gone, with his session")
			seen(eve, false, "fay to see that eve is gone, with her session")
		},
	}, {
		"8. The partition heals. ben, as if he had slept through it all, writes.",
		func() {
			bens1 = <-bens.hold
			heal()
			s.turns.Go(func() { s.insist(ctx, ben, bens1) })
			await(ben, refused, "ben to be back")
			await(ben, refused, "the store to answer ben")
			await(dan, writes, "dan to work")
			seen(ben, true, "fay to see that ben is back")
		},
	}, {
		"9. A lost hold stays lost. ben asks again, and waits for his turn.",
		func() {
			bens = s.start(ctx, ben)
			await(ben, waits, "ben to be in the queue")
			dans.end(errors.New("work done"))
			await(dan, releases, "dan to stop his work")
			await(ben, acquired, "ben to have the lock")
			await(ben, writes, "ben to work")
			bens.end(errors.New("work done"))
			await(ben, releases, "ben to stop his work")
		},
	}, {
		"10. A lock for readers and writers. ada and ben read together. cleo wants to\n" +
			"   write and waits for both; dan wants to read, came later, and waits for cleo.",
		func() {
			cleo.announce(ctx)
			seen(cleo, true, "fay to see that cleo is back")
			adas = s.share(ctx, ada, access{})
			await(ada, reading, "ada to read")
			bens = s.share(ctx, ben, access{})
			await(ben, reading, "ben to read")
			cleos = s.share(ctx, cleo, cleosAccess)
			await(cleo, waits, "cleo to be in the queue")
			dans = s.share(ctx, dan, access{})
			await(dan, waits, "dan to be in the queue")
			adas.end(errors.New("read enough"))
			await(ada, releases, "ada to have read")
			bens.end(errors.New("read enough"))
			await(ben, releases, "ben to have read")
			await(cleo, writing, "cleo's turn")
		},
	}, {
		"11. cleo has written, and becomes a reader: nobody writes in between. dan reads\n" +
			"   with her; ada wants to write, and waits for both.",
		func() {
			adas = s.share(ctx, ada, access{make(chan struct{})})
			await(ada, waits, "ada to be in the queue")
			close(cleosAccess.downgrade)
			await(cleo, downgrades, "cleo to go on as a reader")
			await(dan, reading, "dan to read")
			cleos.end(errors.New("read enough"))
			await(cleo, releases, "cleo to have read")
			dans.end(errors.New("read enough"))
			await(dan, releases, "dan to have read")
			await(ada, writing, "ada's turn")
			adas.end(errors.New("work done"))
			await(ada, releases, "ada to have written")
		},
	}, {
		"12. ada and ben campaign for the lead of a service. fay, who looks for it, is\n" +
			"   told where it is. She watches the leader, and not the candidates.",
		func() {
			service := leader.New(s.site.client, s.site.chroot+service)
			s.cue(ctx, func(ctx context.Context) { s.fay.find(ctx, service) })
			found := func(who *contender) {
				s.fay.until(ctx, "fay to find "+who.name, func() bool { return s.fay.leader == who.address() })
			}
			resign := s.cue(ctx, ada.campaign)
			await(ada, leads, "ada to lead")
			found(ada)
			end := s.cue(ctx, ben.campaign)
			await(ben, asks, "ben to be a candidate")
			resign(errors.New("on leave"))
			await(ben, leads, "ben to lead")
			found(ben)
			end(errors.New("work done"))
			await(ben, resigns, "ben to resign")
		},
	}, {
		"13. A semaphore of two permits, and three who ask.",
		func() {
			adas = s.begin(ctx, ada, ada.slot)
			await(ada, permitted, "ada to have a permit")
			bens = s.begin(ctx, ben, ben.slot)
			await(ben, permitted, "ben to have a permit")
			dans = s.begin(ctx, dan, dan.slot)
			await(dan, asks, "dan to ask")
			s.pass(ctx, blip) // for the reader
			adas.end(errors.New("work done"))
			await(ada, releases, "ada to give her permit back")
			await(dan, permitted, "dan to have it")
			bens.end(errors.New("work done"))
			await(ben, releases, "ben to give his permit back")
			dans.end(errors.New("work done"))
			await(dan, releases, "dan to give his permit back")
		},
	}}
	for _, c := range chapters {
		s.story.chapter(c.title)
		c.play()
		if err := s.story.failure(); err != nil {
			heal()
			return err
		}
	}
	return nil
}

// pass lets d pass.
func (s *script) pass(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// insist writes to both things that the lock guards with a hold that c has lost.
func (s *script) insist(ctx context.Context, c *contender, hold *coord.Hold) {
	err := c.writeReport(ctx, hold)
	if ctx.Err() != nil {
		return // nothing was learned
	}
	if !errors.Is(err, coord.ErrNotHeld) {
		s.story.fail(fmt.Errorf("the stale write of %s to %s was not refused by its guard: %v", c.name, report, err))
		return
	}
	text, err := s.site.read(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil || text == c.name {
		s.story.fail(fmt.Errorf("%s says %q (%v) after the stale write of %s", report, text, err, c.name))
		return
	}
	c.say(refused, "to write %s: the znode of his guard is gone", report)
	if err = c.store.put(hold.Token(), c.name); !errors.Is(err, errStale) {
		s.story.fail(fmt.Errorf("the stale write of %s to the store was not refused: %v", c.name, err))
		return
	}
	c.say(refused, "by a store outside ZooKeeper: %v", err)
}

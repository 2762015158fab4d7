package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock"
)

// A play is a coordinator, another that stands by, and the participants ada and ben, of whom
// one dies once.
type play struct {
	ctx    context.Context
	zk     string // with a chroot of its own
	dir    string // of the journals
	step   string
	victim string

	processes sync.WaitGroup
	running   sync.Map // the commands, by name
	died      sync.Map // the errors of those that were to die, by name
}

func (x *play) run(then func(ctx context.Context, c *coord.Client) error) error {
	servers, chroot, err := coord.ParseServers(x.zk)
	if err != nil {
		return err
	}
	c, err := coord.Dial(x.ctx, servers, &coord.Options{Chroot: chroot, SessionTimeout: 30 * time.Second})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := prepare(x.ctx, c); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(x.ctx)
	defer x.processes.Wait()
	defer stop()
	x.keep(ctx, "coordinator", "coordinate")
	err = x.eventually("the coordinator has its turn", func() (bool, error) {
		who, err := lock.New(c, root+"/coordinator").Contenders(x.ctx)
		return len(who) > 0, err
	})
	if err != nil {
		return err
	}
	x.keep(ctx, "stand-by", "coordinate")
	for _, name := range []string{"ada", "ben"} {
		x.keep(ctx, name, "-name", name, "-journal", x.journal(name), "-balance", "100", "participate")
	}
	err = x.eventually("the participants have begun", func() (bool, error) {
		return x.account("ada").token > 0 && x.account("ben").token > 0, nil
	})
	if err != nil {
		return err
	}
	return then(ctx, c)
}

// dies makes transactions until the victim has died, and is back.
func (x *play) dies(_ context.Context, c *coord.Client) error {
	over := func() (bool, error) { return x.decided(c) }
	for died := false; !died; {
		// One that is good, one that ada has to refuse, and one the other way round. On a
		// busy machine all may be aborted, because the votes come late.
		for _, amounts := range []transfer{{"ada": -10, "ben": 10}, {"ada": -1000, "ben": 1000}, {"ada": 5, "ben": -5}} {
			if err := propose(x.ctx, c, newID(), amounts); err != nil {
				return err
			}
		}
		if err := x.eventually("all is decided", over); err != nil {
			return err
		}
		var how any
		if how, died = x.died.Load(x.victim); died && !strings.Contains(fmt.Sprint(how), "killed") {
			return fmt.Errorf("the victim ends with %v", how)
		}
		died = died || x.victim == ""
	}
	if err := x.agree(); err != nil {
		return err
	}
	return x.goesOn(c)
}

// goesOn waits until a transaction is committed: those that have come back are of use, though
// it may take them a while.
func (x *play) goesOn(c *coord.Client) error {
	err := x.eventually("the next one is committed", func() (bool, error) {
		last, n := newID(), int64(1)
		if x.account("ada").balance > 0 {
			n = -1
		}
		if err := propose(x.ctx, c, last, transfer{"ada": n, "ben": -n}); err != nil {
			return false, err
		}
		err := x.eventually("it is decided", func() (bool, error) { return x.decided(c) })
		return x.account("ada").done[last], err
	})
	if err != nil {
		return err
	}
	return x.agree()
}

// decided reports whether no transaction is open, for the ensemble or a participant.
func (x *play) decided(c *coord.Client) (bool, error) {
	ids, _, err := c.Children(x.ctx, transactions)
	return err == nil && len(ids)+len(x.account("ada").open)+len(x.account("ben").open) == 0, err
}

// agree checks that both have carried out the same, and what they have together.
func (x *play) agree() error {
	ada, ben := x.account("ada"), x.account("ben")
	if !maps.Equal(ada.done, ben.done) || ada.balance+ben.balance != 200 || ada.balance < 0 || ben.balance < 0 {
		return fmt.Errorf("ada has %d after %v, and ben %d after %v", ada.balance, ada.done, ben.balance, ben.done)
	}
	for _, journal := range []string{"ada", "ben"} {
		lines, _ := os.ReadFile(x.journal(journal))
		for id := range ada.done {
			if n := strings.Count(string(lines), " committed "+id+" "); n != 1 {
				return fmt.Errorf("%s has carried out %s %d times", journal, id, n)
			}
		}
	}
	return nil
}

func (x *play) journal(name string) string { return filepath.Join(x.dir, name+".log") }

func (x *play) account(name string) account {
	lines, _ := os.ReadFile(x.journal(name)) // none at first
	return replay(lines, 100)
}

func (x *play) journals() string {
	text := ""
	for _, name := range []string{"ada", "ben"} {
		lines, _ := os.ReadFile(x.journal(name))
		text += name + ":" + string(lines)
	}
	return text
}

// keep runs a process until ctx ends, and starts it again when it has died. Only the first
// one dies by itself.
func (x *play) keep(ctx context.Context, name string, args ...string) {
	step := ""
	if name == x.victim {
		step = x.step
	}
	x.processes.Go(func() {
		for ctx.Err() == nil {
			args := append([]string{"-zk", x.zk, "-timeout", "4s", "-patience", "1s"}, args...)
			cmd := exec.CommandContext(ctx, os.Args[0], args...) // killed by ctx
			cmd.Env = append(os.Environ(), dieAt+"="+step)
			if err := cmd.Start(); err != nil {
				return
			}
			x.running.Store(name, cmd)
			if err := cmd.Wait(); step != "" && ctx.Err() == nil {
				x.died.Store(name, err)
			}
			step = ""
		}
	})
}

// eventually waits until ok.
func (x *play) eventually(what string, ok func() (bool, error)) error {
	for {
		switch good, err := ok(); {
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		case good:
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-x.ctx.Done():
			return fmt.Errorf("not in time: %s", what)
		}
	}
}

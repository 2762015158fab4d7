package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// dieAt tells the test program to be the example, and at which step to die, none if empty.
const dieAt = "ZKCOORD_TEST_DIE_AT"

func TestMain(m *testing.M) {
	if step, ok := os.LookupEnv(dieAt); ok {
		reached = func(now string) {
			if now == step {
				p, _ := os.FindProcess(os.Getpid())
				_ = p.Kill()
				select {}
			}
		}
		main()
		return
	}
	goleak.VerifyTestMain(ensemble.Main(m))
}

// steps are all at which a process can die, of the coordinator and of a participant.
var steps = map[string]string{
	"the coordinator is about to commit":     "coordinator",
	"the coordinator has committed":          "coordinator",
	"the coordinator is about to delete":     "coordinator",
	"the coordinator has aborted":            "coordinator",
	"the coordinator has forgotten":          "coordinator",
	"a participant has seen the proposal":    "ben",
	"a participant is prepared":              "ben",
	"a participant has said vote":            "ben",
	"a participant has seen the commit":      "ben",
	"a participant has carried it out":       "ben",
	"a participant has said done":            "ben",
	"a participant presumes an abort":        "ben",
	"a participant has aborted":              "ben",
	"a participant that nobody kills at all": "",
}

// TestKilledAtEveryStep: whichever process is killed with kill -9, and at whichever step, all
// participants decide the same, each transaction is carried out once or not at all, and when
// the process has come back, the next one is committed.
func TestKilledAtEveryStep(t *testing.T) {
	t.Run("fake", func(t *testing.T) { killAll(t, coordtest.NewServer(t).Addr(), steps) })
	t.Run("real", func(t *testing.T) {
		server := ensemble.Shared(t).Node(0).Addr()
		some := make(map[string]string)
		for _, step := range []string{"the coordinator has committed", "a participant is prepared"} {
			some[step] = steps[step]
		}
		killAll(t, server, some)
	})
}

// TestKilledAtAnyMoment: processes are killed with kill -9 at any moment, one after the
// other and several at once, while one transfer follows the other. In the end all have decided
// the same.
func TestKilledAtAnyMoment(t *testing.T) {
	server := coordtest.NewServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	x := &play{ctx: ctx, zk: server.Addr() + "/any", dir: t.TempDir()}
	err := x.run(func(ctx context.Context, c *coord.Client) error {
		for range harness.Times(25, 1000) {
			n := 1 + rand.Int64N(60)
			if rand.IntN(2) == 0 {
				n = -n
			}
			if err := propose(ctx, c, newID(), transfer{"ada": -n, "ben": n}); err != nil {
				return err
			}
			if rand.IntN(harness.Times(4, 30)) == 0 { // it takes a while to come back
				victim := []string{"coordinator", "stand-by", "ada", "ben"}[rand.IntN(4)]
				if cmd, ok := x.running.Load(victim); ok {
					_ = cmd.(*exec.Cmd).Process.Kill() // it may have ended
				}
			}
			select {
			case <-time.After(rand.N(200 * time.Millisecond)):
			case <-ctx.Done():
			}
		}
		if err := x.eventually("all is decided", func() (bool, error) { return x.decided(c) }); err != nil {
			return err
		}
		t.Logf("%d of them committed", len(x.account("ada").done))
		return x.goesOn(c)
	})
	if err != nil {
		t.Errorf("%v\n%s", err, x.journals())
	}
}

// killAll has a process die at each step, with processes and a directory of their own for each.
// A few plays run at the same time: they mostly wait for the ends of sessions. More would, on
// a busy machine, keep each other's processes from their work.
func killAll(t *testing.T, server string, steps map[string]string) {
	var all sync.WaitGroup
	turns := make(chan struct{}, 3)
	n := 0
	for step, who := range steps {
		n++
		chroot := fmt.Sprintf("/twophase-%d-%d", time.Now().UnixNano(), n)
		dir := t.TempDir()
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			x := &play{ctx: ctx, zk: server + chroot, dir: dir, step: step, victim: who}
			if err := x.run(x.dies); err != nil {
				t.Errorf("%s: %v\n%s", step, err, x.journals())
			}
		})
	}
	all.Wait()
}

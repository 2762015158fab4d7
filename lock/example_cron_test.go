package lock_test

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/lock"
)

// cron runs a job in each period, on one of any number of hosts, until ctx ends.
func cron(ctx context.Context, log *slog.Logger, servers []string, opts *coord.Options, host string, period time.Duration) error {
	c, err := coord.Dial(ctx, servers, opts)
	if err != nil {
		return err
	}
	defer c.Close()
	err = lock.New(c, "/cron/nightly", lock.Label(host)).Run(ctx, func(ctx context.Context, h *coord.Hold) error {
		log.Info("our turn", "token", h.Token())
		for tick := time.Tick(period); ctx.Err() == nil; {
			select {
			case <-tick:
				job(ctx, log)
			case <-ctx.Done():
			}
		}
		return context.Cause(ctx)
	})
	if ctx.Err() != nil { // asked to stop
		return nil
	}
	return err
}

// job takes a while, and a while to stop.
func job(ctx context.Context, log *slog.Logger) {
	log.Info("job begins")
	select {
	case <-time.After(30 * time.Second):
		log.Info("job ends")
	case <-ctx.Done():
		time.Sleep(time.Second)
		log.Info("job interrupted", "why", context.Cause(ctx))
	}
}

// Jobs of two hosts do not overlap: one is interrupted when its host loses the lock,
// before another host has its turn. A host that has lost the lock queues again, and one
// that is asked to stop lets the next one go on.
func TestCron(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := coordtest.NewServer(t)
		var logged transcript
		start := func(host string) (*coordtest.Link, func()) {
			link := server.Link()
			t.Cleanup(link.Close)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				log := slog.New(slog.NewTextHandler(&logged, nil)).With("host", host)
				opts := &coord.Options{SessionTimeout: 4 * time.Second, Dial: link.Dial}
				done <- cron(ctx, log, []string{"server"}, opts, host, time.Minute)
			}()
			synctest.Wait() // until it holds the lock, or waits for it
			return link, func() {
				cancel()
				if err := <-done; err != nil {
					t.Errorf("%s: %v", host, err)
				}
			}
		}
		link, stopAda := start("ada")
		_, stopBen := start("ben")
		time.Sleep(75 * time.Second) // ada is in the middle of her first job
		heal := link.Stall(coordtest.Both)
		time.Sleep(100 * time.Second) // ben has done his first
		heal()
		time.Sleep(5 * time.Second) // ada is back in the queue
		stopBen()
		time.Sleep(75 * time.Second) // ada is in the middle of her second
		stopAda()
		const want = "ada: our turn, job begins, job interrupted\n" +
			"ben: our turn, job begins, job ends\n" +
			"ada: our turn, job begins, job interrupted"
		if got := logged.summary(); got != want {
			t.Errorf("logged\n%s\nin short\n%s\nwant\n%s", &logged.Builder, got, want)
		}
	})
}

// A transcript is what the hosts log.
type transcript struct {
	sync.Mutex
	strings.Builder
}

func (l *transcript) Write(b []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Builder.Write(b)
}

// summary returns what the hosts have logged, without times and values: a line for
// each turn.
func (l *transcript) summary() (said string) {
	for _, m := range regexp.MustCompile(`msg="([^"]*)" host=(\w+)`).FindAllStringSubmatch(l.String(), -1) {
		if what, host := m[1], m[2]; what == "our turn" {
			said += "\n" + host + ": " + what
		} else {
			said += ", " + what
		}
	}
	return strings.TrimSpace(said)
}

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

func main() {
	log.SetFlags(log.Ltime)
	length := flag.Duration("for", time.Hour, "how long")
	every := flag.Duration("every", 0, "the period of a fault; a minute, or an eighth of the whole if that is less")
	clients := flag.Int("clients", 12, "clients")
	out := flag.String("out", "soak.out", "directory for samples.csv and soak.svg")
	flag.Parse()
	if *every == 0 {
		*every = min(time.Minute, *length/8)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := soak(ctx, *length, *every, *clients, *out)
	if err != nil {
		log.Print(err)
		status = 2
	}
	os.Exit(status)
}

// timeout is that of the clients' sessions: the least that servers commonly give.
const timeout = 4 * time.Second

// soak starts the servers, does it all, and returns the exit status.
func soak(ctx context.Context, length, every time.Duration, clients int, out string) (status int, err error) {
	if every < 3*timeout {
		return 2, fmt.Errorf("a period of %v is too short for sessions of %v to expire in", every, timeout)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return 2, err
	}
	e, err := ensemble.Start(ctx, &ensemble.Options{
		Nodes: 3,
		Tick:  time.Second,
		// What was made for a while goes soon after, so that there is a state of rest.
		JVM: []string{"-Dznode.container.checkIntervalMs=1000"},
	})
	if err != nil {
		return 2, err
	}
	defer e.Stop()
	r, err := newRig(ctx, e.Servers(), clients, func() *coordtest.Link { return coordtest.NewLink(nil) })
	if err != nil {
		return 2, err
	}
	defer r.close()
	r.ensemble = e
	r.begin(ctx)
	s := newSampler(e, length)
	planned := int(length / every)
	done := periods(ctx, r, s, planned, every)
	if err := errors.Join(s.writeCSV(filepath.Join(out, "samples.csv")), os.WriteFile(filepath.Join(out, "soak.svg"), plot(s.samples), 0o644)); err != nil {
		return 2, err
	}
	r.report(os.Stdout)
	status = verdict(os.Stdout, s.samples, r.idle())
	if done < planned {
		fmt.Printf("interrupted after %d of %d periods\n", done, planned)
		status = cmp.Or(status, 2)
	}
	return status, nil
}

// periods has r work for n periods, with a fault in each, and takes samples. It returns how many
// it has done, which are fewer if ctx ends. On a busy machine each may take longer.
func periods(ctx context.Context, r *rig, s *sampler, n int, every time.Duration) (done int) {
	for ; done < n; done++ {
		over := time.After(every)
		f := faults[done%len(faults)]
		if done == n*3/4 {
			r.forget() // what succeeds from now on counts
		}
		r.renew(ctx, done)
		s.sleep(ctx, every*3/10, "")
		log.Printf("period %d: %s", done+1, f.name)
		heal := f.begin(r, done)
		s.sleep(ctx, f.lasts, f.name)
		heal()
		s.sleep(ctx, every*3/10-f.lasts, "")
		r.gate.Lock()
		r.settle(ctx, every/4)
		for range restSamples {
			if ctx.Err() == nil { // else it is no rest, but the end
				s.rest()
			}
			s.sleep(ctx, time.Second, "rest")
		}
		r.gate.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
			return done
		}
	}
	return done
}

// restSamples is how many samples are taken in each rest.
const restSamples = 3

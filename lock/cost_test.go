package lock_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
)

// What is held costs the ensemble one transaction for each session in a sixth of its
// timeout, however much the session holds, and no event. What is only waited for
// costs none.
func TestCostOfHolding(t *testing.T) {
	const T = 6 * time.Second
	sessions, holds, span := 20, 5, 2*T
	if harness.Stress {
		sessions, span = 500, 5*T
	} else {
		t.Parallel() // it mostly waits
	}
	e := ensemble.New(t, &ensemble.Options{Nodes: 3})
	ctx := context.Background()
	var all []*coord.Hold
	var dialing sync.WaitGroup
	var mu sync.Mutex
	for i := range sessions {
		dialing.Go(func() {
			c, err := coord.Dial(ctx, e.Servers(), &coord.Options{SessionTimeout: T})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { c.Close() })
			waits, err := coord.Dial(ctx, e.Servers(), &coord.Options{SessionTimeout: T})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { waits.Close() })
			for j := range holds {
				h := lock.New(c, fmt.Sprintf("/cost/%d/%d", i, j)).Acquire(ctx)
				if err := h.Wait(); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all = append(all, h)
				mu.Unlock()
				lock.New(waits, fmt.Sprintf("/cost/%d/%d", i, j)).Acquire(ctx)
			}
		})
	}
	dialing.Wait()
	if t.Failed() {
		return
	}
	settled := time.After(T / 3) // the last proofs of writes have been overtaken
	<-settled
	leader := e.Settled(t)
	zxid := func() int64 { return number(t, leader, "srvr", `Zxid: (0x[0-9a-f]+)`) }
	from, began := zxid(), time.Now()
	<-time.After(span)
	n, took := zxid()-from, time.Since(began)
	due := float64(sessions) * took.Seconds() * 6 / T.Seconds()
	size := number(t, leader, "mntr", `zk_last_proposal_size\s+(\d+)`)
	t.Logf("%d sessions with %d holds each and as many that wait: %d transactions in %v, %.2f of one each T/6; the last of %d bytes",
		sessions, holds, n, took.Round(time.Millisecond), float64(n)/due, size)
	if float64(n) > 1.1*due+float64(sessions) {
		t.Errorf("%d transactions, want %.0f", n, due)
	}
	for _, h := range all {
		if h.Err() != nil {
			t.Fatal(h.Err())
		}
	}
}

func number(t *testing.T, n *ensemble.Node, word, pattern string) int64 {
	t.Helper()
	text, err := n.Command(word)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("%s says %s", word, text)
	}
	v, err := strconv.ParseInt(found[1], 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

package config_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A record is a value of 1 KiB.
type record struct {
	N   int
	Pad string
}

// TestLoad: while a value of 1 KiB is changed 200 times a second, 50 clients follow
// it, each with a reader and with one that never reads. No stream goes backwards,
// all end on the last value, and what they need does not grow. (R55.)
func TestLoad(t *testing.T) {
	const rate = 200
	watchers := harness.Times(15, 50)
	long := time.Duration(harness.Times(3, 60)) * time.Second
	w := harness.On(t, ensemble.Shared(t))
	dial := func() *coord.Client { return harness.Dial(t, w.Real.Servers(), nil) }
	path := w.Dir + "/record"
	pad := strings.Repeat("x", 1<<10-len(`{"N":12345,"Pad":""}`))
	var streams []*event.Stream[config.Update[record]]
	var readers sync.WaitGroup
	var updates atomic.Int64
	for range watchers {
		c := dial()
		read := config.New(c, path, config.JSON[record]()).Watch(t.Context())
		streams = append(streams, read, config.New(c, path, config.JSON[record]()).Watch(t.Context()))
		readers.Go(func() {
			var last config.Update[record]
			for u := range read.All() {
				updates.Add(1)
				if u.Mzxid < last.Mzxid || u.Version < last.Version || u.Value.N < last.Value.N {
					t.Errorf("%+v after %+v", u, last)
				}
				last = u
			}
		})
		t.Cleanup(func() {
			c.Close()
			readers.Wait()
		})
	}
	writer := dial()
	n := 0
	began := time.Now()
	next := func(until time.Duration) {
		for ; time.Since(began) < until; n++ {
			<-time.After(time.Until(began.Add(time.Duration(n) * time.Second / rate)))
			_, err := config.New(writer, path, config.JSON[record]()).Modify(t.Context(), func(r record) (record, error) {
				return record{r.N + 1, pad}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	next(long / 5)
	early := w.Heap()
	next(long)
	late := w.Heap()
	spent := time.Since(began)
	last := record{n, pad}
	deadline := time.After(10 * time.Second)
	for i, s := range streams {
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			u, _ := s.Latest()
			if u.Value == last && u.Err == nil && !u.Suspended {
				tick.Stop()
				break
			}
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("stream %d ends on %+v, and not on %d", i, u, n)
			}
		}
	}
	t.Logf("%d changes in %v, %.0f a second; %d updates read by %d; all on the last value %v later; heap %d KiB, then %d KiB",
		n, spent.Round(time.Millisecond), float64(n)/spent.Seconds(), updates.Load(), watchers,
		(time.Since(began) - spent).Round(time.Millisecond), early>>10, late>>10)
	if late > early+4<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", early, late)
	}
	for i, s := range streams {
		if i%2 == 1 {
			if u := <-s.Updates(); u.Value != last { // a stream that was never read before has the newest
				t.Errorf("stream %d, never read: %+v", i, u)
			}
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
)

func TestMain(m *testing.M) {
	if asChild() {
		return
	}
	goleak.VerifyTestMain(harness.Main(m))
}

var bg = context.Background()

// open returns a queue of its own on w, for the client c.
func open(w *harness.World, c *harness.Client) *Queue {
	q, err := Open(bg, c.Client, w.Dir+"/queue")
	w.Must(err)
	return q
}

// Items are done in the order of their priorities, and those of one priority in the order
// in which they were put.
func TestOrder(t *testing.T) {
	harness.Bubble(t, func(w *harness.World) {
		q := open(w, w.Client(harness.T))
		for i, priority := range []int{500, 7, 500, 0, 7} {
			w.Must(q.Put(bg, fmt.Sprint(i), priority, fmt.Append(nil, "text ", i)))
		}
		ctx, stop := context.WithCancel(bg)
		var order []string
		err := q.Work(ctx, func(_ context.Context, item Item) ([]byte, error) {
			if want := "text " + item.ID; string(item.Data) != want {
				t.Errorf("item %s has %q", item.ID, item.Data)
			}
			if order = append(order, item.ID); len(order) == 5 {
				defer time.AfterFunc(time.Second, stop) // of the bubble
			}
			return []byte("done"), nil
		})
		w.Wants(err, context.Canceled)
		if want := []string{"3", "1", "4", "0", "2"}; !slices.Equal(order, want) {
			t.Errorf("done in the order %q, want %q", order, want)
		}
		if got := results(w, q); len(got) != 5 {
			t.Errorf("results %q", got)
		}
		if names := w.Children(w.Dir + "/queue/taken"); len(names) > 0 {
			t.Errorf("left: %q", names)
		}
	})
}

// results collects the results.
func results(w *harness.World, q *Queue) map[string]string {
	all := make(map[string]string)
	w.Must(q.Results(bg, func(id string, result []byte) { all[id] = string(result) }))
	return all
}

// An item that is put again, by a program that does not know that it has, is there once;
// also when it is taken or done already, until its result is removed.
func TestPutAgain(t *testing.T) {
	harness.Bubble(t, func(w *harness.World) {
		q := open(w, w.Client(harness.T))
		items := func() int { return len(w.Children(w.Dir + "/queue/items")) }
		for range 2 {
			w.Must(q.Put(bg, "a", 1, nil))
		}
		if items() != 1 {
			t.Errorf("%d items", items())
		}
		ctx, stop := context.WithCancel(bg)
		_ = q.Work(ctx, func(context.Context, Item) ([]byte, error) {
			w.Must(q.Put(bg, "a", 1, nil))
			time.AfterFunc(time.Second, stop) // of the bubble
			return nil, nil
		})
		w.Must(q.Put(bg, "a", 1, nil))
		if items() != 0 {
			t.Errorf("%d items after it was done", items())
		}
		results(w, q)
		w.Must(q.Put(bg, "a", 1, nil))
		if items() != 1 {
			t.Errorf("%d items after its result was removed", items())
		}
	})
}

// A put whose answer is lost has put the item once.
func TestPutUnanswered(t *testing.T) {
	for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
		harness.Bubble(t, func(w *harness.World) {
			c := w.Client(harness.T)
			q := open(w, c)
			cut := false
			c.Link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.Op == "multi" && f.Dir == dir && !cut {
					cut = true
					return coordtest.HangUp
				}
				return coordtest.Pass
			})
			w.Must(q.Put(bg, "a", 1, nil))
			if n := len(w.Children(w.Dir + "/queue/items")); n != 1 || !cut {
				t.Errorf("%d items; cut: %t", n, cut)
			}
		})
	}
}

// A taker lists the queue once for a batch, and not for each item.
func TestBatches(t *testing.T) {
	harness.Bubble(t, func(w *harness.World) {
		c := w.Client(harness.T)
		q := open(w, c)
		const n = 5 * batch
		for i := range n {
			w.Must(q.Put(bg, fmt.Sprint(i), 1, nil))
		}
		record := harness.RecordLink(c.Link)
		ctx, stop := context.WithCancel(bg)
		done, listings := 0, 0
		_ = q.Work(ctx, func(context.Context, Item) ([]byte, error) {
			if done++; done == n {
				for _, r := range record.Requests() {
					if strings.HasPrefix(r, "getChildren") && strings.HasSuffix(r, "/items") {
						listings++
					}
				}
				time.AfterFunc(time.Second, stop) // of the bubble
			}
			return nil, nil
		})
		if listings != n/batch {
			t.Errorf("%d listings for %d items", listings, n)
		}
	})
}

// An item of which the taker's session ends is taken again, with a greater token, and what
// the first taker has made of it does not count.
func TestLostItem(t *testing.T) {
	harness.Bubble(t, func(w *harness.World) {
		a, b := w.Client(harness.T), w.Client(harness.T)
		qa, qb := open(w, a), open(w, b)
		w.Must(qa.Put(bg, "x", 1, nil))
		ctx, stop := context.WithCancel(bg)
		var all sync.WaitGroup
		var tokens []coord.Token
		first := make(chan struct{})
		all.Go(func() {
			_ = qa.Work(ctx, func(work context.Context, item Item) ([]byte, error) {
				tokens = append(tokens, item.Token)
				close(first)
				<-work.Done()
				if err := context.Cause(work); !errors.Is(err, coord.ErrExpired) {
					t.Errorf("lost by %v", err)
				}
				a.Link.Cut() // else it might take the item again itself
				return []byte("first"), nil
			})
		})
		<-first
		all.Go(func() {
			_ = qb.Work(ctx, func(_ context.Context, item Item) ([]byte, error) {
				tokens = append(tokens, item.Token)
				time.AfterFunc(time.Second, stop) // of the bubble
				return []byte("second"), nil
			})
		})
		a.Link.Stall(coordtest.Both)
		all.Wait()
		if len(tokens) != 2 || tokens[1] <= tokens[0] {
			t.Errorf("tokens %v", tokens)
		}
		if got := results(w, qb); got["x"] != "second" {
			t.Errorf("results %q", got)
		}
	})
}

package config_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// What Publish stores together a Tree shows together or not at all: also keys on
// several levels, keys that come and go, and whatever happens to the connection:
// here it breaks at every frame in turn.
func TestTreeSeesWholePublications(t *testing.T) {
	const rounds = 6
	run := func(t *testing.T, hook func(n int, l *coordtest.Link) coordtest.Action) (frames int) {
		synctest.Test(t, func(t *testing.T) {
			server := coordtest.NewServer(t)
			c, writer := server.Client(t, nil), server.Client(t, nil)
			link := server.LinkOf(c)
			link.OnFrame(func(f coordtest.Frame) coordtest.Action {
				if f.N == 0 {
					return coordtest.Pass
				}
				frames++
				return hook(frames, link)
			})
			tree := config.NewTree(c, "/app", config.JSON[int]()).Watch(t.Context())
			done := make(chan struct{})
			shown := 0
			go func() {
				defer close(done)
				for k := range tree.All() {
					shown++
					whole(t, k)
					if k.Keys["a"].Value == rounds && !k.Suspended {
						return
					}
				}
			}()
			for gen := 1; gen <= rounds; gen++ {
				publish(t, writer, gen)
				time.Sleep(time.Duration(gen%3) * 10 * time.Millisecond) // of the bubble
			}
			<-done
		})
		return frames
	}
	frames := run(t, func(int, *coordtest.Link) coordtest.Action { return coordtest.Pass })
	t.Logf("%d frames", frames)
	for at := 1; at <= frames; at++ {
		for name, action := range map[string]coordtest.Action{"lost": coordtest.HangUp, "the last": coordtest.PassAndHangUp} {
			t.Run(fmt.Sprintf("frame %d %s", at, name), func(t *testing.T) {
				run(t, func(n int, _ *coordtest.Link) coordtest.Action {
					if n == at {
						return action
					}
					return coordtest.Pass
				})
			})
		}
		t.Run(fmt.Sprintf("frame %d held back", at), func(t *testing.T) {
			run(t, func(n int, l *coordtest.Link) coordtest.Action {
				if n == at {
					time.AfterFunc(25*time.Millisecond, l.Stall(coordtest.Both))
				}
				return coordtest.Pass
			})
		})
	}
}

// publish stores generation gen: all keys have it, and one comes and goes.
func publish(t testing.TB, c *coord.Client, gen int) {
	t.Helper()
	values := map[string]int{"a": gen, "b": gen, "d/c": gen, "d/e/f": gen}
	odd := "odd/key"
	var remove []string
	if gen%2 == 1 {
		values[odd] = gen
	} else {
		remove = append(remove, odd)
	}
	if err := config.NewTree(c, "/app", config.JSON[int]()).Publish(t.Context(), values, remove...); err != nil {
		t.Errorf("publish %d: %v", gen, err)
	}
}

// whole checks that k is one generation, or was before any.
func whole(t testing.TB, k config.Values[int]) {
	t.Helper()
	gen := k.Keys["a"].Value
	want := fmt.Sprintf("a=%d b=%d d/c=%d d/e/f=%d", gen, gen, gen, gen)
	if gen%2 == 1 {
		want += " odd/key=" + strconv.Itoa(gen)
	}
	got := strings.TrimSuffix(sayKeys(k), "?")
	if got != want && got != "" {
		t.Errorf("half of a publication: %q", got)
	}
}

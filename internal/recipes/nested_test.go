package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/rwlock"
)

// What would wait for its own caller is refused, where the context tells: whatever
// objects are used, by the same client and on the same path. What would not is not.
func TestNestedLocks(t *testing.T) {
	harness.Both(t, func(t *testing.T, in harness.Maker) {
		in(t, func(w *harness.World) {
			c, other := w.Client(harness.Long), w.Client(harness.Long)
			refused := func(what string, h *coord.Hold, want error) {
				w.Helper()
				w.Wait("end of "+what, h.Done())
				if err := h.Err(); !errors.Is(err, want) {
					w.Errorf("%s: %v, want %v", what, err, want)
				}
			}
			granted := func(what string, h *coord.Hold) {
				w.Helper()
				if err := wait(w, hold{h}); err != nil {
					w.Errorf("%s: %v", what, err)
				}
				w.Must(h.Release(bg))
			}
			dir, path := w.Dir+"/queue", w.Dir+"/unqueued"
			outer := map[string]*coord.Hold{
				"a Mutex":          lock.New(c.Client, dir).Acquire(bg),
				"an Unqueued":      lock.NewUnqueued(c.Client, path).Acquire(bg),
				"another's":        lock.New(other.Client, dir+"-2").Acquire(bg),
				"an RWMutex":       rwlock.New(c.Client, dir+"-3").AcquireRead(bg),
				"one that is over": lock.New(c.Client, dir+"-4").Acquire(bg),
			}
			for _, h := range outer {
				w.Must(wait(w, hold{h}))
			}
			outer["one that waits"] = lock.New(c.Client, dir+"-2").Acquire(bg) // for another's
			ctx := context.Context(bg)
			for _, h := range outer { // one within the other, in any order
				ctx = h.Context(ctx)
			}
			ended := outer["one that is over"]
			w.Must(ended.Release(bg)) // which ends ctx; the work goes on with another
			ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
			defer cancel()

			refused("a Mutex in itself", lock.New(c.Client, dir).Acquire(ctx), lock.ErrNested)
			refused("a reader in a Mutex of the same directory", rwlock.New(c.Client, dir).AcquireRead(ctx), rwlock.ErrNested)
			refused("a writer in a Mutex of the same directory", rwlock.New(c.Client, dir).AcquireWrite(ctx), rwlock.ErrUpgrade)
			refused("an Unqueued in itself", lock.NewUnqueued(c.Client, path).Acquire(ctx), lock.ErrNested)
			refused("a reader in a reader", rwlock.New(c.Client, dir+"-3").AcquireRead(ctx), lock.ErrNested)
			refused("a writer in a reader", rwlock.New(c.Client, dir+"-3").AcquireWrite(ctx), rwlock.ErrUpgrade)
			refused("a Mutex in one that waits", lock.New(c.Client, dir+"-2").Acquire(ctx), lock.ErrNested)

			granted("in one that is over", lock.New(c.Client, dir+"-4").Acquire(ctx))
			granted("of another path", lock.New(c.Client, dir+"-5").Acquire(ctx))
			granted("a try to read in a reader", rwlock.New(c.Client, dir+"-3").TryAcquireRead(ctx))
			granted("by another client", rwlock.New(other.Client, dir+"-3").AcquireRead(ctx))
			refused("a try in itself", lock.New(c.Client, dir).TryAcquire(ctx), lock.ErrNested)
			refused("a try of an Unqueued in itself", lock.NewUnqueued(c.Client, path).TryAcquire(ctx), lock.ErrNested)
			for _, h := range outer {
				w.Must(h.Release(bg))
			}

			do := func(context.Context, *coord.Hold) error { return errors.New("called") }
			for i, r := range runners {
				dir := fmt.Sprintf("%s/run-%d", w.Dir, i)
				w.Must(r.do(bg, c.Client, dir, func(ctx context.Context, _ *coord.Hold) error {
					for _, f := range []doer{r.do, r.run} {
						if err := f(ctx, c.Client, dir, do); !errors.Is(err, lock.ErrNested) && !errors.Is(err, rwlock.ErrNested) && !errors.Is(err, rwlock.ErrUpgrade) {
							w.Errorf("%s within itself: %v", r.name, err)
						}
					}
					return nil
				}))
			}
		})
	})
}

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
)

var bg = context.Background()

// A transaction that was deleted, and is made again under the same id, is looked at again,
// whether it is made when the first look has ended or while that goes on.
func TestMadeAgain(t *testing.T) {
	harness.Bubble(t, func(w *harness.World) {
		c := w.Client(harness.Long)
		w.Must(prepare(bg, c.Client))
		ctx, stop := context.WithCancel(bg)
		looks, ends := make(chan string, 10), make(chan struct{})
		over := make(chan error, 1)
		go func() {
			over <- each(ctx, c.Client, nil, func(ctx context.Context, id string) error {
				looks <- id
				select {
				case <-ends:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		}()
		looked := func(when string) {
			t.Helper()
			select {
			case <-looks:
			case <-time.After(time.Minute):
				t.Errorf("nobody looks %s", when)
			}
		}
		// endAll ends the looks, and those that follow because of an earlier listing.
		endAll := func() {
			for {
				select {
				case ends <- struct{}{}:
				case <-time.After(time.Minute):
					for len(looks) > 0 {
						<-looks
					}
					return
				}
			}
		}
		path := transactions + "/x"
		w.Create(path, "{}")
		looked("at first")
		w.Delete(path)
		endAll()
		w.Create(path, "{}")
		looked("when it was made after the end of the look")
		w.Delete(path)
		time.Sleep(time.Minute)
		w.Create(path, "{}")
		time.Sleep(time.Minute)
		select {
		case ends <- struct{}{}:
		case <-time.After(time.Minute):
			t.Error("nobody looks")
		}
		looked("when it was made during the look")
		endAll()
		stop()
		w.Wants(<-over, context.Canceled)
	})
}

// A journal that cannot be opened, because its name is not held any more, leaves no file open.
func TestOpenFails(t *testing.T) {
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "journal")
	harness.Bubble(t, func(w *harness.World) {
		h := lock.New(w.Client(harness.Long).Client, "/name").Acquire(bg)
		w.Must(h.Wait())
		w.Must(h.Release(bg))
		if _, err := open(path, h, 100); !errors.Is(err, coord.ErrReleased) {
			t.Errorf("it was opened, with %v", err)
		}
	})
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name, _ := os.Readlink("/proc/self/fd/" + file.Name()); name == path {
			t.Errorf("%s is open", path)
		}
	}
}

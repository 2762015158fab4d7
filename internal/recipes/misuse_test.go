package recipes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
	"github.com/zkcoord/zkcoord/members"
	"github.com/zkcoord/zkcoord/rwlock"
)

// A mistake that no program makes on purpose panics with words: an option that is nil,
// and a handle that did not come from its New.
func TestMisusePanicsWithWords(t *testing.T) {
	for what, f := range map[string]func(){
		"nil Option of a Mutex":    func() { lock.New(nil, "/lock", nil) },
		"nil Option of an RWMutex": func() { rwlock.New(nil, "/lock", nil) },
		"zero Mutex":               func() { new(lock.Mutex).Acquire(bg) },
		"zero Mutex, watched":      func() { lock.New(nil, "/lock").Watch(bg) },
		"zero Mutex, listed":       func() { lock.New(nil, "/lock").Contenders(bg) },
		"zero Unqueued":            func() { new(lock.Unqueued).TryAcquire(bg) },
		"zero RWMutex":             func() { new(rwlock.RWMutex).AcquireRead(bg) },
		"zero Group":               func() { new(members.Group).Join(bg, members.Member{ID: "a"}) },
		"zero Group, kept":         func() { new(members.Group).Keep(bg, members.Member{ID: "a"}) },
		"Value without a client":   func() { config.New(nil, "/value", config.Text()).Read(bg) },
		"Value watched":            func() { config.New(nil, "/value", config.Text()).Watch(bg) },
	} {
		t.Run(what, func(t *testing.T) {
			defer func() {
				if words := fmt.Sprint(recover()); !strings.Contains(words, "is nil") {
					t.Errorf("panics with %q", words)
				}
			}()
			f()
		})
	}
}

// A lock whose function is nil is released when that panics.
func TestNilFunctionPanicsWithWords(t *testing.T) {
	harness.Bubble(t, func(w *harness.World) {
		m := lock.New(w.Client(harness.Long).Client, "/lock")
		func() {
			defer func() {
				if words := fmt.Sprint(recover()); !strings.Contains(words, "is nil") {
					w.Errorf("panics with %q", words)
				}
			}()
			w.Must(m.Do(bg, nil))
		}()
		who, err := m.Contenders(bg)
		if len(who) > 0 || err != nil && !errors.Is(err, coord.ErrNoNode) {
			w.Errorf("contenders %v, %v", who, err)
		}
	})
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/internal/history"
)

// A tale is a history under construction. Its events are at successive milliseconds.
type tale []history.Event

func (t *tale) event(e history.Event) {
	e.At = time.Duration(len(*t)) * time.Millisecond
	*t = append(*t, e)
}

func (t *tale) hold(proc string, kind history.Kind, recipe, f string, n int) {
	t.event(history.Event{Proc: proc, Kind: kind, Recipe: recipe, Path: "/" + recipe, Op: 1, F: f, N: n, Token: int64(len(*t) + 1)})
}

func (t *tale) call(proc string, f, value string) {
	t.event(history.Event{Proc: proc, Kind: history.Call, Path: "/v", Op: 2, F: f, Value: value})
}

func (t *tale) answer(proc string, kind history.Kind, was, value string) {
	t.event(history.Event{Proc: proc, Kind: kind, Op: 2, Was: was, Value: value})
}

// What no order explains is found, in each model, and its picture is kept.
func TestViolations(t *testing.T) {
	const lock, rw, sem = history.Lock, history.RWLock, history.Semaphore
	for _, tt := range []struct {
		name   string
		status int
		tell   func(t *tale)
	}{
		{"hand-over", 0, func(t *tale) {
			t.hold("a", history.Ask, lock, "", 0)
			t.hold("b", history.Ask, lock, "", 0)
			t.hold("a", history.Acquired, lock, "", 0)
			t.hold("a", history.Release, lock, "", 0)
			t.hold("b", history.Acquired, lock, "", 0)
			t.hold("a", history.Released, lock, "", 0)
		}},
		{"after a loss and a death", 0, func(t *tale) {
			t.hold("a", history.Ask, lock, "", 0)
			t.hold("a", history.Acquired, lock, "", 0)
			t.hold("a", history.Lost, lock, "", 0)
			t.hold("b", history.Ask, lock, "", 0)
			t.hold("b", history.Acquired, lock, "", 0)
			t.event(history.Event{Proc: "b", Kind: history.Died})
			t.hold("c", history.Ask, lock, "", 0)
			t.hold("c", history.Acquired, lock, "", 0)
		}},
		{"overlap", 1, func(t *tale) {
			t.hold("a", history.Ask, lock, "", 0)
			t.hold("b", history.Ask, lock, "", 0)
			t.hold("a", history.Acquired, lock, "", 0)
			t.hold("b", history.Acquired, lock, "", 0)
			t.hold("a", history.Lost, lock, "", 0)
		}},
		{"readers", 0, func(t *tale) {
			t.hold("a", history.Ask, rw, "read", 0)
			t.hold("b", history.Ask, rw, "read", 0)
			t.hold("a", history.Acquired, rw, "read", 0)
			t.hold("b", history.Acquired, rw, "read", 0)
		}},
		{"writer beside a reader", 1, func(t *tale) {
			t.hold("a", history.Ask, rw, "read", 0)
			t.hold("b", history.Ask, rw, "write", 0)
			t.hold("a", history.Acquired, rw, "read", 0)
			t.hold("b", history.Acquired, rw, "write", 0)
			t.hold("a", history.Release, rw, "read", 0)
		}},
		{"reader beside a downgraded writer", 0, func(t *tale) {
			t.hold("a", history.Ask, rw, "write", 0)
			t.hold("b", history.Ask, rw, "read", 0)
			t.hold("a", history.Acquired, rw, "write", 0)
			t.hold("a", history.Downgrade, rw, "", 0)
			t.hold("b", history.Acquired, rw, "read", 0)
			t.hold("a", history.Release, rw, "", 0)
		}},
		{"one permit too many", 1, func(t *tale) {
			for _, proc := range []string{"a", "b", "c"} {
				t.hold(proc, history.Ask, sem, "", 2)
			}
			for _, proc := range []string{"a", "b", "c"} {
				t.hold(proc, history.Acquired, sem, "", 2)
			}
			t.hold("a", history.Release, sem, "", 2)
		}},
		{"permits", 0, func(t *tale) {
			for _, proc := range []string{"a", "b", "c"} {
				t.hold(proc, history.Ask, sem, "", 2)
			}
			t.hold("a", history.Acquired, sem, "", 2)
			t.hold("b", history.Acquired, sem, "", 2)
			t.hold("b", history.Lost, sem, "", 2)
			t.hold("c", history.Acquired, sem, "", 2)
		}},
		{"stale read", 1, func(t *tale) {
			t.call("a", history.Set, "x")
			t.answer("a", history.OK, "", "x")
			t.call("a", history.Set, "y")
			t.answer("a", history.OK, "", "y")
			t.call("b", history.Get, "")
			t.answer("b", history.OK, "", "x")
		}},
		{"stale read at a leader that was cut off", 0, func(t *tale) {
			t.event(history.Event{Proc: "nemesis", Kind: history.Fault, F: history.Isolate})
			t.call("a", history.Set, "x")
			t.answer("a", history.OK, "", "x")
			t.call("b", history.Get, "")
			t.answer("b", history.OK, "", "")
		}},
		{"unknown, read late", 0, func(t *tale) {
			t.call("a", history.Set, "x")
			t.answer("a", history.Unknown, "", "x")
			t.call("b", history.Get, "")
			t.answer("b", history.OK, "", "")
			t.call("b", history.Get, "")
			t.answer("b", history.OK, "", "x")
		}},
		{"unknown, read and gone", 1, func(t *tale) {
			t.call("a", history.Set, "x")
			t.answer("a", history.Unknown, "", "x")
			t.call("b", history.Get, "")
			t.answer("b", history.OK, "", "x")
			t.call("b", history.Get, "")
			t.answer("b", history.OK, "", "")
		}},
		{"lost update", 1, func(t *tale) {
			t.call("a", history.Set, "x")
			t.answer("a", history.OK, "", "x")
			t.call("a", history.Modify, "")
			t.call("b", history.Modify, "")
			t.answer("a", history.OK, "x", "y")
			t.answer("b", history.OK, "x", "z")
		}},
		{"unknown change of an unknown change", 0, func(t *tale) {
			t.call("a", history.Modify, "")
			t.answer("a", history.Unknown, "", "x")
			t.call("b", history.Modify, "")
			t.answer("b", history.Unknown, "x", "y")
			t.call("b", history.Get, "")
			t.answer("b", history.OK, "", "y")
		}},
		{"changed by a process that was killed before it could tell of what", 0, func(t *tale) {
			t.call("a", history.Set, "x")
			t.answer("a", history.OK, "", "x")
			t.call("b", history.Modify, "y")
			t.event(history.Event{Proc: "b", Kind: history.Died})
			t.call("a", history.Get, "")
			t.answer("a", history.OK, "", "y")
		}},
		{"counted", 0, func(t *tale) {
			t.call("a", history.Add, "2")
			t.call("b", history.Add, "3")
			t.answer("b", history.OK, "", "3")
			t.answer("a", history.OK, "", "5")
			t.call("c", history.Add, "4")
			t.answer("c", history.Unknown, "", "")
			t.call("b", history.Sum, "")
			t.answer("b", history.OK, "", "9")
		}},
		{"counted twice", 1, func(t *tale) {
			t.call("a", history.Add, "2")
			t.answer("a", history.OK, "", "2")
			t.call("b", history.Sum, "")
			t.answer("b", history.OK, "", "4")
		}},
		{"not counted", 1, func(t *tale) {
			t.call("a", history.Add, "2")
			t.answer("a", history.OK, "", "2")
			t.call("b", history.Sum, "")
			t.answer("b", history.OK, "", "0")
		}},
		{"nothing", 2, func(t *tale) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var events tale
			tt.tell(&events)
			dir := t.TempDir()
			if status := judge(events, time.Minute, dir); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			pictures, err := filepath.Glob(filepath.Join(dir, "*.html"))
			if err != nil || len(pictures) != tt.status%2 {
				t.Errorf("pictures %q, %v", pictures, err)
			}
		})
	}
}

// What cannot be decided in time is neither.
func TestNotDecided(t *testing.T) {
	var events tale
	// Writes of which any order may be right, and a read that none explains.
	procs := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	for _, proc := range procs {
		events.call(proc, history.Set, proc)
	}
	events.call("reader", history.Get, "")
	events.answer("reader", history.OK, "", "never")
	for _, proc := range procs {
		events.answer(proc, history.OK, "", "")
	}
	if status := judge(events, 50*time.Millisecond, t.TempDir()); status != 2 {
		t.Errorf("status %d, want 2", status)
	}
}

// Thousands of operations, with losses whose time is not known, are decided soon.
func TestLongHistory(t *testing.T) {
	var events tale
	for i := range 1000 {
		proc := string(rune('a' + i%20))
		for _, x := range []struct{ recipe, f string }{{history.Lock, ""}, {history.Semaphore, ""}, {history.RWLock, "read"}} {
			for _, kind := range []history.Kind{history.Ask, history.Acquired, history.Lost} {
				events.hold(proc+x.recipe, kind, x.recipe, x.f, 3)
			}
		}
		events.call(proc, history.Modify, "")
		events.answer(proc, history.Unknown, "", "")
	}
	began := time.Now()
	if status := judge(events, time.Minute, t.TempDir()); status != 0 {
		t.Errorf("status %d, want 0", status)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A file is read as it was written.
func TestReadsFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "history.jsonl")
	line, err := json.Marshal(history.Event{Proc: "a", Kind: history.Ask})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(line, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	if events, err := read(name); err != nil || len(events) != 1 || events[0].Proc != "a" {
		t.Errorf("%v, %v", events, err)
	}
}

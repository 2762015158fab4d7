package sim

import (
	"strings"
	"testing"
	"time"
)

// What a script prints is what it is parsed from.
func TestScriptText(t *testing.T) {
	for seed := range uint64(20) {
		s := Generate(seed, Size{Clients: 20, Time: time.Minute, Op: 2 * time.Second, Fault: time.Second})
		text := s.String()
		again, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if again.String() != text {
			t.Fatalf("seed %d: parsed and printed, a script is another:\n%s", seed, again)
		}
		if len(s.Lines) < 100 {
			t.Errorf("seed %d: only %d lines", seed, len(s.Lines))
		}
	}
}

// A line that is not understood is an error, and not left out.
func TestScriptErrors(t *testing.T) {
	for _, text := range []string{
		"at 1s", "at x c1 lock /a hold 1s", "at 1s c0 lock /lock/a hold 1s", "at 1s c1 lock lock hold 1s", "at 1s c1 lock /lock/a hold",
		"at 1s c1 lock /lock/a hold x", "at -1s reset c1", "at 1s stall c1 there for 1s", "at 1s c2 lock /lock/a hold 1s", "clients 0", "clients 64",
		"seed", "seed x", "timeouts 1s", "nonsense 1", "at 1s dance c1",
	} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q is read as %q", text, s)
		} else if !strings.Contains(err.Error(), text[:2]) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The generator makes every kind of line.
func TestGeneratorMakesAll(t *testing.T) {
	made := make(map[*form]bool)
	for seed := range uint64(20) {
		for _, l := range Generate(seed, Size{Clients: 20, Time: 10 * time.Minute, Op: 2 * time.Second, Fault: time.Second}).Lines {
			made[l.form] = true
		}
	}
	for i := range forms {
		if f := &forms[i]; !made[f] {
			t.Errorf("no line is %q", strings.Join(f.words, " "))
		}
	}
}

// A script is shrunk to the lines that matter, and to short times.
func TestShrink(t *testing.T) {
	s := Generate(1, Size{Clients: 20, Time: 10 * time.Minute, Op: 2 * time.Second, Fault: time.Second})
	runs := 0
	shrunk := Shrink(s, 1000, func(s *Script) bool {
		runs++
		resets, pauses := 0, 0
		for _, l := range s.Lines {
			switch l.verb() {
			case "reset":
				resets++
			case "pause":
				pauses++
			}
		}
		return resets >= 2 && pauses >= 1
	})
	if len(shrunk.Lines) != 3 || shrunk.End > time.Second {
		t.Errorf("shrunk in %d runs to\n%s", runs, shrunk)
	}
	if runs > 1000 {
		t.Errorf("%d runs", runs)
	}
}

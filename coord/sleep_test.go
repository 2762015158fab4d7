package coord

import (
	"testing"
	"time"
)

// A moment grows older while the machine sleeps, and not by readings of the clocks
// that lie a little apart.
func TestAgeCountsSleep(t *testing.T) {
	defer func(f func() time.Duration) { readSlept = f }(readSlept)
	var slept time.Duration
	readSlept = func() time.Duration { return slept }
	slept = 100 * time.Hour
	m := now()
	// minuteOld returns when m is a minute old.
	minuteOld := func() time.Time { n := now(); return n.at.Add(time.Minute - n.since(m)) }
	old := minuteOld()
	slept += noSleep / 2
	if age := now().since(m); age > time.Second {
		t.Errorf("age %v without sleep", age)
	}
	slept += time.Hour
	if age := now().since(m); age < time.Hour || age > time.Hour+time.Minute {
		t.Errorf("age %v after an hour's sleep", age)
	}
	if d := old.Sub(minuteOld()); d < time.Hour || d > time.Hour+noSleep {
		t.Errorf("by an hour's sleep a moment is a minute old %v sooner", d)
	}
	if age := now().since(now()); age > time.Second {
		t.Errorf("age of now: %v", age)
	}
	if age := now().since(moment{}); age < 1000*time.Hour {
		t.Errorf("age of never: %v", age)
	}
}

// A step of the wall clock, by an operator or by NTP, makes nothing older: what is
// read does not move while no machine sleeps.
func TestSleptIsSteady(t *testing.T) {
	first := slept()
	for range 1000 {
		if d := slept() - first; d < -noSleep/2 || d > noSleep/2 {
			t.Fatalf("without sleep, slept has changed by %v", d)
		}
	}
}

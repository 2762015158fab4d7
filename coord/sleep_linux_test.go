package coord

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

const sleptEnv = "COORD_TEST_SLEPT"

// The clock that counts sleep is asked: in a time namespace in which it is an hour
// ahead the machine has slept an hour more.
func TestSleptAsksTheKernel(t *testing.T) {
	if os.Getenv(sleptEnv) != "" {
		os.Stdout.WriteString("slept " + strconv.FormatInt(int64(slept()), 10) + "\n")
		return
	}
	const ahead = time.Hour
	cmd := exec.Command("unshare", "--time", "--boottime", strconv.Itoa(int(ahead/time.Second)), "--fork",
		os.Args[0], "-test.run=^TestSleptAsksTheKernel$", "-test.v")
	cmd.Env = append(os.Environ(), sleptEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("needs the right to make a time namespace: %v: %s", err, out)
	}
	_, text, _ := strings.Cut(string(out), "slept ")
	text, _, _ = strings.Cut(text, "\n")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("the child says %s", out)
	}
	if d := time.Duration(n) - slept() - ahead; d < -time.Second || d > time.Second {
		t.Errorf("slept %v there and %v here", time.Duration(n), slept())
	}
}

// The clocks that count sleep are read when the wall clock has moved, whether by a sleep or
// because it was set, and not otherwise. Short sleeps add up.
func TestSleptReadsWhenTheWallClockMoves(t *testing.T) {
	var r sleepReading
	var wall, asleep time.Duration
	reads := 0
	check := func(what string, want time.Duration, read bool) {
		t.Helper()
		before := reads
		got := r.slept(wall, func() time.Duration { reads++; return asleep })
		if got != want || reads > before != read {
			t.Errorf("%s: slept %v, want %v; read: %v, want %v", what, got, want, reads > before, read)
		}
	}
	check("at first", 0, true)
	check("again", 0, false)
	wall, asleep = wall+time.Hour, asleep+time.Hour
	check("after a sleep", time.Hour, true)
	check("later", time.Hour, false)
	wall += time.Minute
	check("wall clock set forward", time.Hour, true)
	wall -= 2 * time.Hour
	check("wall clock set back", time.Hour, true)
	for range 100 { // each too short to be noticed
		wall, asleep = wall+noSleep/10, asleep+noSleep/10
		r.slept(wall, func() time.Duration { return asleep })
	}
	if d := asleep - r.slept(wall, func() time.Duration { return asleep }); d < 0 || d > noSleep {
		t.Errorf("of 100 short sleeps, %v have not been noticed", d)
	}
}

package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// A job is what a worker has to do: a script, or those of many seeds until its time is over.
// A worker is a process of its own, since a script may end in a panic, or never. It has one
// thread for Go, so that goroutines run in a repeatable order.
type job struct {
	Dir    string // where it writes: current is the script in hand, results has a line for each
	Script string // the text of one; empty for many
	Seed   uint64 // the first
	Step   uint64
	Until  time.Time
	Size   Size
}

// workerEnv has the job of a worker.
const workerEnv = "ZKCOORD_SIM_WORKER"

// slow is when a script that is still played will never end.
const slow = 2 * time.Minute

// TestWorker is what a worker runs.
func TestWorker(t *testing.T) {
	text := os.Getenv(workerEnv)
	if text == "" {
		t.Skip("it is for TestTorture")
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	results, err := os.OpenFile(filepath.Join(j.Dir, "results"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	play := func(s *Script) {
		if err := os.WriteFile(filepath.Join(j.Dir, "current"), []byte(s.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		watchdog := time.AfterFunc(slow, func() {
			debug.SetTraceback("all")
			panic("sim: the script does not end")
		})
		var all Totals
		all.Add(s, Play(t, s, Plant{}))
		watchdog.Stop()
		line, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := results.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	if j.Script != "" {
		s, err := Parse(j.Script)
		if err != nil {
			t.Fatal(err)
		}
		play(s)
		return
	}
	for seed := j.Seed; time.Now().Before(j.Until); seed += j.Step {
		play(Generate(seed, j.Size))
	}
}

// run has a worker do a job, and returns what it has found. If the worker dies, that is a
// failure of the script in hand.
func (j job) run(t *testing.T) (all Totals) {
	if os.Getenv(workerEnv) != "" {
		t.Fatal("a worker has no workers")
	}
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWorker$", "-test.count=1", "-test.timeout=0")
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text), "GOMAXPROCS=1", "TORTURE=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	died := cmd.Run()
	results, _ := os.ReadFile(filepath.Join(j.Dir, "results"))
	current, _ := os.ReadFile(filepath.Join(j.Dir, "current"))
	for line := range bytes.Lines(results) {
		var one Totals
		if err := json.Unmarshal(line, &one); err == nil {
			all.merge(&one)
		}
	}
	if died != nil && t.Context().Err() == nil {
		s, err := Parse(string(current))
		if err != nil {
			t.Fatalf("%v: %v\n%s", died, err, out.Bytes())
		}
		all.Failures = append(all.Failures, Failure{s.Seed, string(current), Violation{rule(out.String()), head(out.String(), 80)}})
	}
	return all
}

// rule returns what kind of death the output of a process tells of.
func rule(out string) string {
	for line := range strings.Lines(out) {
		for _, sign := range []string{"panic: ", "fatal error: ", "--- FAIL"} {
			if strings.HasPrefix(line, sign) {
				return "crash: " + strings.TrimSpace(head(line, 1))
			}
		}
	}
	return "crash"
}

// head returns the first lines of a text.
func head(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[:min(n, len(lines))], "")
}

// again plays a script in a process of its own, and returns how it has failed, nil if it
// has not.
func again(t *testing.T, s *Script) *Failure {
	all := job{Dir: t.TempDir(), Script: s.String()}.run(t)
	if len(all.Failures) > 0 {
		return &all.Failures[0]
	}
	return nil
}

// kept writes a script to a file and returns what plays it again.
func kept(t *testing.T, s *Script) string {
	file := filepath.Join(os.TempDir(), fmt.Sprintf("zkcoord-sim-%x.script", hash(uint64(time.Now().UnixNano()))))
	if err := os.WriteFile(file, []byte(s.String()), 0o600); err != nil {
		t.Error(err)
	}
	return "make torture SCRIPT=" + file
}

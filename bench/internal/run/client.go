package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/bench/internal/client"
	"github.com/zkcoord/zkcoord/bench/internal/server"
)

// limit bounds one run beyond what it is to measure.
const limit = 5 * time.Minute

// An outcome is what has become of a run.
type outcome struct {
	metrics map[string]float64
	others  float64 // CPUs that other processes used from begin to end
}

// runClient runs a client of s to its end. The CPU time of the processes in ours is no
// other's.
func runClient(ctx context.Context, command []string, flags client.Flags, s *server.Server, ours []int) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+flags.Measure+flags.Warm)
	defer cancel()
	var errors tail
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], flags.Args()...)...)
	cmd.Stderr = &errors
	stdin, replies, err := os.Pipe()
	if err != nil {
		return outcome{}, err
	}
	defer replies.Close()
	lines, stdout, err := os.Pipe()
	if err != nil {
		_ = stdin.Close()
		return outcome{}, err
	}
	defer lines.Close()
	cmd.Stdin, cmd.Stdout = stdin, stdout
	p, err := server.Start(cmd)
	_, _ = stdin.Close(), stdout.Close() // the child has its own
	if err != nil {
		return outcome{}, err
	}
	defer p.Kill()
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	o, err := attend(bufio.NewReader(lines), replies, s, cmd.Process.Pid, append(ours, cmd.Process.Pid), flags.N)
	if err != nil {
		p.Kill()
		if cause := context.Cause(ctx); cause != nil {
			return outcome{}, cause
		}
		return outcome{}, fmt.Errorf("%w: %s", err, errors.last())
	}
	return o, nil
}

// attend reads counters at each mark of a client, which has n of something, until it says what it has measured.
func attend(lines *bufio.Reader, replies *os.File, s *server.Server, pid int, ours []int, n int) (outcome, error) {
	var o outcome
	marks := make(map[string]server.Reading)
	var busy, own [2]float64
	var at [2]time.Time
	look := func(i int) {
		busy[i], _ = server.MachineCPU()
		own[i], at[i] = server.CPU(ours...), time.Now()
	}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return o, fmt.Errorf("the client has ended: %w", err)
		}
		name, mark := strings.CutPrefix(strings.TrimSpace(line), "mark ")
		if !mark {
			result := make(map[string]float64)
			if err := json.Unmarshal([]byte(line), &result); err != nil {
				return o, fmt.Errorf("the client has said %q: %w", line, err)
			}
			o.metrics = metrics(result, marks, n)
			if took := at[1].Sub(at[0]); took > 0 {
				o.others = max(0, (busy[1]-busy[0]-own[1]+own[0])/float64(took.Microseconds()))
			}
			return o, nil
		}
		switch name {
		case "rest":
			atRest(pid, s.Pid)
		case "end":
			look(1)
		}
		marks[name] = s.Read(pid)
		if name == "begin" {
			look(0)
		}
		if _, err := replies.WriteString("\n"); err != nil {
			return o, err
		}
	}
}

// atRest waits until the processes have hardly anything to do, for a while but not
// forever.
func atRest(pids ...int) {
	const window, share = 300 * time.Millisecond, .3 // of one CPU
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		before, begun := server.CPU(pids...), time.Now()
		time.Sleep(window)
		if used := server.CPU(pids...) - before; used < share*float64(time.Since(begun).Microseconds()) {
			return
		}
	}
}

// A tail keeps the end of what is written to it.
type tail struct{ buf []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b...)
	if drop := len(t.buf) - 2048; drop > 0 {
		t.buf = t.buf[drop:]
	}
	return len(b), nil
}

// last returns the last line.
func (t *tail) last() string {
	text := bytes.TrimSpace(t.buf)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

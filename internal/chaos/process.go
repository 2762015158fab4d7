package chaos

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/history"
)

// A child is a client process as the nemesis has it. One goroutine at a time uses it.
type child struct {
	task // of the present life
	dir  string
	note *history.Recorder // of the nemesis

	process *ensemble.Process
	started chan struct{} // closed when it has its sessions, or has ended
	said    chan string   // what it says then; closed when it has ended
	stdin   *os.File      // whose end ends it
	reading chan struct{} // closed when nothing reads its output any more
}

// start begins a life of the process.
func (c *child) start() error {
	c.Life++
	name := processName(c.ID, c.Life)
	c.History = filepath.Join(c.dir, "history", name+".jsonl")
	text, err := json.Marshal(c.task)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(c.dir, "clients", name+".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, stdin, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	stdout, out, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return err
	}
	defer out.Close()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), clientEnv+"="+string(text))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, log
	if c.process, err = ensemble.StartProcess(cmd); err != nil {
		stdin.Close()
		stdout.Close()
		return err
	}
	// As many as there are phases: a child says no more.
	c.said, c.stdin, c.reading, c.started = make(chan string, 8), stdin, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(c.reading)
		defer stdout.Close()
		defer close(c.said)
		lines := bufio.NewScanner(stdout)
		lines.Scan() // started
		close(c.started)
		for lines.Scan() {
			c.said <- lines.Text()
		}
	}()
	return nil
}

// name names the present life.
func (c *child) name() string { return processName(c.ID, c.Life) }

// kill ends the process with SIGKILL. It is stopped first, so that the time of its death
// is after all that it has recorded.
func (c *child) kill() {
	c.process.Freeze()
	for _, name := range actors(c.ID, c.Life, c.Clients) {
		c.note.Record(history.Event{Proc: name, Kind: history.Died})
	}
	c.end()
}

// end ends the process in any case, and waits for it.
func (c *child) end() {
	if c.process == nil {
		return
	}
	c.process.Kill()
	c.stdin.Close()
	<-c.reading
}

// ended returns an error if the process has ended by itself.
func (c *child) ended() error {
	select {
	case <-c.process.Done():
	default:
		return nil
	}
	log, _ := os.ReadFile(filepath.Join(c.dir, "clients", c.name()+".log"))
	return fmt.Errorf("client %s has ended: %s", c.name(), log[max(0, len(log)-4096):])
}

// tell tells all children that a phase begins, and waits until all have done what it asks
// for.
func tell(children []*child, phase string) error {
	for _, c := range children {
		if _, err := fmt.Fprintln(c.stdin, phase); err != nil {
			return fmt.Errorf("%s: %w", c.name(), cmp.Or(c.ended(), err))
		}
	}
	deadline := time.NewTimer(patience + 30*time.Second)
	defer deadline.Stop()
	for _, c := range children {
		select {
		case said, ok := <-c.said:
			if ok && said != phase {
				return fmt.Errorf("%s says %q, and not %q", c.name(), said, phase)
			}
			if ok {
				continue
			}
			if err := c.process.Err(); err != nil || phase != leave {
				return cmp.Or(c.ended(), err)
			}
		case <-deadline.C:
			return fmt.Errorf("%s does not answer to %q", c.name(), phase)
		}
	}
	return nil
}

// histories returns the events of all files below dir.
func histories(dir string) ([]history.Event, error) {
	files, err := filepath.Glob(filepath.Join(dir, "history", "*.jsonl"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var all [][]history.Event
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		events, err := history.Read(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, events)
	}
	return history.Merge(all...), nil
}

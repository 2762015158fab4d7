//go:build linux

package members_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/members"
)

// keepProcess is the program of a member: it says whether it is in or out until
// its input ends, and then leaves.
func keepProcess(server, dir, id string) error {
	ctx := context.Background()
	c, err := coord.Dial(ctx, []string{server}, &coord.Options{SessionTimeout: processTimeout})
	if err != nil {
		return err
	}
	k := members.New(c, dir).Keep(ctx, members.Member{ID: id, Data: fmt.Append(nil, os.Getpid())})
	told := make(chan struct{})
	go func() {
		defer close(told)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	for last := ""; ; {
		select {
		case s := <-k.Updates():
			if s.Suspended {
				continue // In is what was last known
			}
			now := fmt.Sprintln("out", s.Err)
			if s.In {
				now = fmt.Sprintln("in", s.Token)
			}
			if now != last {
				fmt.Print(now)
			}
			last = now
		case <-k.Done():
			return k.Err()
		case <-told:
			if err := k.Leave(ctx); err != nil {
				return err
			}
			fmt.Println("left")
			return c.Close()
		}
	}
}

// A process is a member in a process of its own.
type process struct {
	id   string
	cmd  *exec.Cmd
	in   io.WriteCloser
	said chan string   // has room for all that is ever said
	done chan struct{} // closed when the process is reaped
}

// startMember starts the program of a member. It ends with the test, or with the
// process of the test, however that ends.
func startMember(t *testing.T, server, dir, id string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestProcesses$", "-test.count=1")
	cmd.Env = append(os.Environ(), "MEMBERS_TEST_SERVER="+server, "MEMBERS_TEST_DIR="+dir, "MEMBERS_TEST_ID="+id)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{id: id, cmd: cmd, in: in, said: make(chan string, 1000), done: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer close(p.done)
		// Pdeathsig goes by the thread that forked, which must not end before.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.said <- lines.Text()
		}
		_ = cmd.Wait() // "killed", of most
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// kill returns when the process has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only for one that has ended
	<-p.done
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// isIn waits until the process says that it is in, and returns its token, and why
// it has said before that it is out.
func (p *process) isIn(t *testing.T) (token coord.Token, outs []string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case s := <-p.said:
			if why, ok := strings.CutPrefix(s, "out "); ok {
				outs = append(outs, why)
			} else if _, err := fmt.Sscanf(s, "in %d", &token); err != nil {
				t.Fatalf("%s says %q", p.id, s)
			} else {
				return token, outs
			}
		case <-deadline:
			t.Fatalf("%s does not say within a minute that it is in; it was out for %q", p.id, outs)
		}
	}
}

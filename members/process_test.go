//go:build linux

package members_test

import (
	"bufio"
	"context"
	"errors"
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
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// processTimeout is that of the members' sessions: more than the least that servers
// commonly give, because a busy machine can let twenty processes wait for longer
// than that.
const processTimeout = 10 * time.Second

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

// TestProcesses: members whose processes are killed are seen to leave within
// their session's timeout and two ticks, by all onlookers, and nobody else is. One
// that was stopped for longer is back without its own doing (R57), and one that
// was killed and started again has to wait for its former self (R30).
func TestProcesses(t *testing.T) {
	if id := os.Getenv("MEMBERS_TEST_ID"); id != "" {
		if err := keepProcess(os.Getenv("MEMBERS_TEST_SERVER"), os.Getenv("MEMBERS_TEST_DIR"), id); err != nil {
			fmt.Println("failed", err)
		}
		return
	}
	const (
		count  = 20
		killed = 5
		tick   = 2 * time.Second
		bound  = processTimeout + 2*tick
	)
	const dir = "/processes"
	server := ensemble.New(t, &ensemble.Options{Tick: tick, JVM: unsynced}).Node(0).Addr()
	var onlookers []*onlooker
	for range 3 {
		onlookers = append(onlookers, lookOn(t, harness.Dial(t, []string{server}, nil), dir))
	}
	// all waits until everybody sees just these, and returns how long after since
	// the last did.
	all := func(what string, ids []string, since time.Time) (last time.Duration) {
		t.Helper()
		for _, o := range onlookers {
			last = max(last, o.until(t, what, exactly(ids)).Sub(since))
		}
		t.Logf("%s: seen by all after %v", what, last.Round(time.Millisecond))
		return last
	}

	began := time.Now()
	var procs []*process
	var ids []string
	for i := range count {
		p := startMember(t, server, dir, fmt.Sprintf("m%02d", i))
		procs, ids = append(procs, p), append(ids, p.id)
	}
	tokens := make(map[*process]coord.Token)
	for _, p := range procs {
		token, outs := p.isIn(t)
		if len(outs) > 0 {
			t.Errorf("%s was out first: %q", p.id, outs)
		}
		tokens[p] = token
	}
	all("everybody", ids, began)
	late := lookOn(t, harness.Dial(t, []string{server}, nil), dir)
	onlookers = append(onlookers, late)
	all("everybody, also by an onlooker that came late", ids, time.Now())
	if !exactly(ids)(late.first) {
		t.Errorf("the first view of an onlooker that came late has %d members", len(late.first.Members))
	}

	// At the same time five are killed, one is stopped, and another is killed and
	// started again.
	frozen, restarted := procs[killed], procs[killed+1]
	began = time.Now()
	for _, p := range procs[:killed] {
		p.kill()
	}
	frozen.signal(t, syscall.SIGSTOP)
	restarted.kill()
	again := startMember(t, server, dir, restarted.id)
	asked := time.Now()
	h := members.New(harness.Dial(t, []string{server}, nil), dir).Join(t.Context(), members.Member{ID: restarted.id})
	if err := h.Wait(); !errors.Is(err, members.ErrTaken) {
		t.Errorf("a Join in the place of one just killed: %v, want ErrTaken", err)
	}
	if took := time.Since(asked); took > processTimeout/2 {
		t.Errorf("a Join in the place of one just killed ends after %v", took)
	}
	token, outs := again.isIn(t)
	if len(outs) != 1 || !strings.Contains(outs[0], members.ErrTaken.Error()) || token <= tokens[restarted] {
		t.Errorf("the member that was started again was out for %q; then in with token %d, formerly %d", outs, token, tokens[restarted])
	}
	took := time.Since(began)
	t.Logf("started again: in after %v", took.Round(time.Millisecond))
	if took > bound {
		t.Errorf("the member that was started again is in after %v, want at most %v", took, bound)
	}
	if took := all("without the killed and the stopped", ids[killed+1:], began); took > bound {
		t.Errorf("the last was seen to leave after %v, want at most %v", took, bound)
	}
	began = time.Now()
	frozen.signal(t, syscall.SIGCONT)
	token, outs = frozen.isIn(t)
	if len(outs) == 0 || token <= tokens[frozen] {
		t.Errorf("the member that was stopped was out for %q; then in with token %d, formerly %d", outs, token, tokens[frozen])
	}
	for _, why := range outs {
		// Of the clock and the ensemble's last events either can be the first to tell.
		if !strings.Contains(why, coord.ErrExpired.Error()) && !strings.Contains(why, coord.ErrDeleted.Error()) {
			t.Errorf("the member that was stopped was out for %q", why)
		}
	}
	t.Logf("the member that was stopped was out for %q", outs)
	all("it goes on", ids[killed:], began)
	pid := fmt.Sprint(again.cmd.Process.Pid)
	for _, o := range onlookers {
		o.until(t, "the data of the member that was started again", func(v members.View) bool {
			m, _ := v.Member(restarted.id)
			return string(m.Data) == pid
		})
	}

	// Nothing else was seen, and nobody else was in and out.
	for i, o := range onlookers {
		for j, id := range ids {
			want := []string{"+"}
			switch {
			case j < killed:
				want = []string{"+-"}
			case id == frozen.id:
				want = []string{"+-+"}
			case id == restarted.id:
				want = []string{"+-+", "+~"} // it can be back before anybody has looked
			}
			if got := o.history(id); got != want[0] && got != want[len(want)-1] {
				t.Errorf("onlooker %d, member %s: %q, want %q", i, id, got, want)
			}
		}
		if n := o.count('?'); n > 0 {
			t.Errorf("onlooker %d was suspended %d times", i, n)
		}
	}
	living := append([]*process{again, frozen}, procs[killed+2:]...)
	for _, p := range living {
		select {
		case s := <-p.said:
			t.Errorf("%s also says %q", p.id, s)
		default:
		}
	}

	// A member that is told to end leaves at once.
	began = time.Now()
	for _, p := range living {
		p.in.Close()
	}
	all("everybody gone", nil, began)
	for _, p := range living {
		<-p.done
		select {
		case s := <-p.said:
			if s != "left" {
				t.Errorf("%s says %q in the end", p.id, s)
			}
		default:
			t.Errorf("%s says nothing in the end", p.id)
		}
	}
}

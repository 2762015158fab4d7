//go:build linux

package members_test

import (
	"errors"
	"fmt"
	"os"
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

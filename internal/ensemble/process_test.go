//go:build linux

package ensemble_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// alive tells whether a process runs or could run again. One that is dead but
// not reaped is not alive: when orphans are reaped is not our matter.
func alive(pid int) bool {
	s := processState(pid)
	return s != "" && s != "Z" && s != "X"
}

// processState returns the letter of proc(5), "" if there is no such process.
func processState(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return after[:1]
}

// linked tells whether there is a link of this name. None has the name "".
func linked(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

func TestStopLeavesNothing(t *testing.T) {
	for _, namespaces := range []bool{false, true} {
		t.Run(fmt.Sprintf("namespaces=%v", namespaces), func(t *testing.T) { stopLeavesNothing(t, namespaces) })
	}
}

func stopLeavesNothing(t *testing.T, namespaces bool) {
	e := ensemble.New(t, &ensemble.Options{Nodes: 3, Namespaces: namespaces})
	if linked(e.Link()) != namespaces {
		t.Errorf("link %q to the servers", e.Link())
	}
	e.Node(1).Freeze()
	if s := processState(e.Node(1).Pid()); s != "T" {
		t.Errorf("state of the frozen server: %q, want T", s)
	}
	e.Stop()
	e.Stop()
	for _, n := range e.Nodes() {
		if alive(n.Pid()) {
			t.Errorf("process %d runs after Stop", n.Pid())
		}
		if err := n.Launch(); err == nil {
			t.Error("a server could be launched after Stop")
		}
	}
	if _, err := os.Stat(e.Dir()); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", e.Dir(), err)
	}
	if linked(e.Link()) {
		t.Errorf("the link %s is still there", e.Link())
	}
}

// onEndingThread calls f on a thread that ends after that.
func onEndingThread(f func(tid int)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // a goroutine that ends without unlocking takes its thread along
		if tid := syscall.Gettid(); tid != os.Getpid() {
			f(tid)
			return
		}
		// Not so the main thread. While it is locked here, another is taken.
		onEndingThread(f)
		runtime.UnlockOSThread()
	}()
	<-done
}

// The thread that forks is the parent that Pdeathsig goes by. The end of the
// caller's thread must mean nothing to the server.
func TestServerSurvivesThreadOfCaller(t *testing.T) {
	ensemble.Require(t, nil)
	var e *ensemble.Ensemble
	var err error
	var thread int
	onEndingThread(func(tid int) {
		thread = tid
		e, err = ensemble.Start(t.Context(), nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	eventually(t, "the thread has ended", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
		return os.IsNotExist(err)
	})
	if got, err := e.Node(0).Command("ruok"); err != nil || got != "imok" {
		t.Errorf("after the end of the caller's thread the server answers %q, %v", got, err)
	}
}

const orphanEnv = "ENSEMBLE_TEST_ORPHAN"

// startAndHang starts servers, freezes one, prints their process ids and their
// link, and waits to be killed, or for its own parent to be gone.
func startAndHang() {
	e, err := ensemble.Start(context.Background(), &ensemble.Options{
		Nodes:      3,
		Namespaces: os.Getenv(orphanEnv) == "true",
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	e.Node(2).Freeze()
	for _, n := range e.Nodes() {
		fmt.Println(n.Pid())
	}
	fmt.Println(e.Link())
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(1)
}

func TestKilledParentLeavesNoServer(t *testing.T) {
	for _, namespaces := range []bool{false, true} {
		t.Run(fmt.Sprintf("namespaces=%v", namespaces), func(t *testing.T) { killedParentLeavesNoServer(t, namespaces) })
	}
}

func killedParentLeavesNoServer(t *testing.T, namespaces bool) {
	ensemble.Require(t, &ensemble.Options{Namespaces: namespaces})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	parent := exec.CommandContext(ctx, os.Args[0])
	parent.Env = append(os.Environ(), fmt.Sprint(orphanEnv, "=", namespaces), "TMPDIR="+t.TempDir())
	stdin, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	lines := bufio.NewScanner(stdout)
	for len(pids) < 3 && lines.Scan() {
		var pid int
		if _, err := fmt.Sscan(lines.Text(), &pid); err != nil {
			t.Errorf("the parent says: %s", lines.Text())
			break
		}
		pids = append(pids, pid)
	}
	lines.Scan()
	link := lines.Text()
	if linked(link) != namespaces {
		t.Errorf("link %q to the servers", link)
	}
	for _, pid := range pids {
		if !alive(pid) {
			t.Errorf("process %d does not run before its parent is killed", pid)
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = parent.Wait() // it says "killed"
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !alive(pid) })
	}
	eventually(t, "the link has gone", func() bool { return !linked(link) })
}

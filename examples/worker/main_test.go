package main

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// asWorker tells the test program to be the worker.
const asWorker = "ZKCOORD_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// The program of the README works until it is interrupted. Then it says goodbye, and
// leaves no contender behind.
func TestWorker(t *testing.T) {
	server := coordtest.NewServer(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-zk", server.Addr())
	cmd.Env = append(os.Environ(), asWorker+"=1")
	logged, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	defer time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }).Stop()
	var log strings.Builder
	for lines := bufio.NewScanner(logged); lines.Scan(); {
		log.WriteString(lines.Text() + "\n")
		if strings.HasSuffix(lines.Text(), "working") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Skipf("it cannot be interrupted here: %v", err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(log.String(), "our turn, with token ") || !strings.Contains(log.String(), "stopped: ") {
		t.Errorf("%v, logged\n%s", err, log.String())
	}
	if tree := server.Tree(); strings.Contains(tree, "-lock-") {
		t.Errorf("left behind:\n%s", tree)
	}
	t.Logf("logged\n%s", log.String())
}

// While no server answers, the program says so, and can be interrupted.
func TestWorkerSaysWhatItWaitsFor(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := closed.Addr().String()
	must(t, closed.Close())
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-zk", addr)
	cmd.Env = append(os.Environ(), asWorker+"=1")
	logged, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	defer time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }).Stop()
	said := false
	for lines := bufio.NewScanner(logged); lines.Scan(); {
		t.Log(lines.Text())
		if strings.Contains(lines.Text(), addr) && !said {
			said = true
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Skipf("it cannot be interrupted here: %v", err)
			}
		}
	}
	exit := new(exec.ExitError)
	if err := cmd.Wait(); !said || !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("said what it waits for: %t; ended with %v", said, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

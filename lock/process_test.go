//go:build linux

package lock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/lock"
)

// pausedHolder is the program that TestPausedProcess stops: it holds the lock
// and, when it notices that time has passed without it, says what Err says at
// the first look and what becomes of a guarded write.
func pausedHolder(server, dir string) error {
	ctx := context.Background()
	c, err := coord.Dial(ctx, []string{server}, &coord.Options{SessionTimeout: 4 * time.Second})
	if err != nil {
		return err
	}
	h := lock.New(c, dir).Acquire(ctx)
	if err := h.Wait(); err != nil {
		return err
	}
	guard := h.Guard()
	last := time.Now() // before the word at which we are stopped
	fmt.Println("held")
	tick := time.NewTicker(time.Millisecond)
	for {
		<-tick.C
		if time.Since(last) < time.Second {
			last = time.Now()
			continue
		}
		fmt.Println("expired:", errors.Is(h.Err(), coord.ErrExpired))
		// As a holder would that did not look.
		_, err = c.Txn(ctx, guard, coord.OpSet(dir+"-guarded", []byte("stale"), -1))
		fmt.Println("refused:", errors.Is(err, coord.ErrNotHeld))
		return c.Close()
	}
}

// TestPausedProcess: a holder that was stopped until another has the lock knows
// of the loss at its first look, and its guarded write is refused. (R20, R77.)
func TestPausedProcess(t *testing.T) {
	if dir := os.Getenv("LOCK_TEST_DIR"); dir != "" {
		if err := pausedHolder(os.Getenv("LOCK_TEST_SERVER"), dir); err != nil {
			fmt.Println(err)
		}
		return
	}
	server := ensemble.Shared(t).Node(0).Addr()
	dir := fmt.Sprintf("/paused-%d", time.Now().UnixNano())
	c, err := coord.Dial(t.Context(), []string{server}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Conn().Create(dir+"-guarded", []byte("good"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPausedProcess$", "-test.count=1")
	child.Env = append(os.Environ(), "LOCK_TEST_DIR="+dir, "LOCK_TEST_SERVER="+server)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	says := func() string {
		for lines.Scan() {
			if s := lines.Text(); strings.HasPrefix(s, "held") || strings.Contains(s, ":") {
				return s
			}
		}
		return "nothing"
	}
	if s := says(); s != "held" {
		t.Fatal(s)
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	next := lock.New(c, dir).Acquire(t.Context())
	if err := next.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"expired: true", "refused: true"} {
		if s := says(); s != want {
			t.Errorf("the holder says %q, want %q", s, want)
		}
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
	if data, _, err := c.Conn().Get(dir + "-guarded"); err != nil || string(data) != "good" {
		t.Errorf("guarded data %q, %v", data, err)
	}
	if err := next.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

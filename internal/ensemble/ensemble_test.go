//go:build linux

package ensemble_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zkcoord/zkcoord/internal/ensemble"
)

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		startAndHang() // in the child of TestKilledParentLeavesNoServer
	}
	goleak.VerifyTestMain(ensemble.Main(m))
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func connect(t *testing.T, servers []string) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(servers, 4*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		for range events {
		}
	})
	return c
}

// eventually polls until ok, and fails the test if that takes long.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("not within 30 seconds: %s", what)
		}
	}
}

func TestShared(t *testing.T) {
	e := ensemble.Shared(t)
	if again := ensemble.Shared(t); again != e {
		t.Error("Shared started a second server")
	}
	if len(e.Servers()) != 1 || e.Servers()[0] != e.Node(0).Addr() {
		t.Errorf("Servers() = %v, want only %s", e.Servers(), e.Node(0).Addr())
	}
	if e.Leader() != e.Node(0) {
		t.Error("a standalone server is not its own leader")
	}
	for word, want := range map[string]string{
		"ruok": "imok",
		"mntr": "zk_server_state\tstandalone",
		"cons": e.Node(0).Addr()[:len("127.0.0.1")],
		"wchs": "watching",
		"dump": "SessionTracker",
		"conf": "tickTime=2000",
	} {
		if got, err := e.Node(0).Command(word); err != nil || !strings.Contains(got, want) {
			t.Errorf("Command(%q) = %q, %v; want %q in it", word, got, err, want)
		}
	}
}

func TestRestartKeepsDataAndPort(t *testing.T) {
	e := ensemble.New(t, nil)
	c := connect(t, e.Servers())
	if _, err := c.Create("/kept", []byte("x"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	n := e.Node(0)
	for range 2 {
		addr, pid := n.Addr(), n.Pid()
		n.Kill()
		n.Kill() // once more does no harm
		if alive(pid) {
			t.Fatal("the server runs after Kill")
		}
		if _, err := n.Command("ruok"); err == nil {
			t.Fatal("the server answers after Kill")
		}
		if err := n.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n.Addr() != addr || n.Pid() == pid {
			t.Fatalf("address %s, process %d after the restart of %s, %d", n.Addr(), n.Pid(), addr, pid)
		}
		eventually(t, "the data is there", func() bool {
			data, _, err := c.Get("/kept")
			return err == nil && string(data) == "x"
		})
	}
}

func TestOptions(t *testing.T) {
	e := ensemble.New(t, &ensemble.Options{
		Tick:   300 * time.Millisecond,
		JVM:    []string{"-Dzookeeper.snapCount=4321"},
		Config: map[string]string{"maxSessionTimeout": "7654"},
	})
	conf, err := e.Node(0).Command("conf")
	if err != nil {
		t.Fatal(err)
	}
	env, err := e.Node(0).Command("envi")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tickTime=300", "minSessionTimeout=600", "maxSessionTimeout=7654"} {
		if !strings.Contains(conf, want) {
			t.Errorf("no %s in:\n%s", want, conf)
		}
	}
	if !strings.Contains(env, "java.version") {
		t.Errorf("envi answers %q", env)
	}
}

func TestFailedStart(t *testing.T) {
	ensemble.Require(t, nil)
	t.Setenv("TMPDIR", t.TempDir())
	for name, tc := range map[string]struct {
		opts *ensemble.Options
		want string
	}{
		"nodes":  {&ensemble.Options{Nodes: 2}, "want 1, 3 or 5"},
		"flag":   {&ensemble.Options{JVM: []string{"-XX:+NoSuchFlag"}}, "NoSuchFlag"},
		"config": {&ensemble.Options{Config: map[string]string{"tickTime": "soon"}}, "soon"},
	} {
		e, err := ensemble.Start(t.Context(), tc.opts)
		if err == nil {
			e.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Start returned %v, want %q in it", name, err, tc.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := ensemble.Start(ctx, nil); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("Start without time returned %v", err)
	}
	// A taken port is tried again with others, here in vain.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = ensemble.Start(ctx, &ensemble.Options{Config: map[string]string{"clientPort": port}})
	if err == nil || ctx.Err() == nil {
		t.Errorf("Start on a taken port returned %v before its time was over", err)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("failed starts left %v", left)
	}
}

func TestThreeNodes(t *testing.T) {
	t.Parallel()
	e := ensemble.New(t, &ensemble.Options{
		Nodes:  3,
		Tick:   500 * time.Millisecond,
		Config: map[string]string{"syncLimit": "3"}, // ticks that followers bear with a silent leader
	})
	leader, followers := e.Leader(), e.Followers()
	if leader == nil || len(followers) != 2 || slices.Contains(followers, leader) {
		t.Fatalf("leader %v, followers %v", leader, followers)
	}
	created := 0
	write := func(via *ensemble.Node, when string) {
		t.Helper()
		created++
		c := connect(t, []string{via.Addr()})
		eventually(t, "a write succeeds "+when, func() bool {
			_, err := c.Create(fmt.Sprintf("/%d", created), nil, 0, zk.WorldACL(zk.PermAll))
			return err == nil || err == zk.ErrNodeExists
		})
		c.Close()
	}
	write(leader, "at first")

	followers[0].Kill()
	write(followers[1], "without one follower")
	if len(e.Followers()) != 1 {
		t.Error("the killed server follows")
	}
	if err := followers[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(e.Followers()) != 2 {
		t.Error("the restarted server does not follow")
	}

	leader.Freeze()
	if _, err := leader.Command("ruok"); err == nil {
		t.Error("the frozen server answers")
	}
	eventually(t, "another leads", func() bool { l := e.Leader(); return l != nil && l != leader })
	write(e.Leader(), "with the old leader frozen")
	leader.Thaw()
	eventually(t, "the old leader follows", func() bool { return slices.Contains(e.Followers(), leader) })

	for _, n := range e.Nodes() {
		n.Kill()
	}
	for _, n := range e.Nodes() {
		if err := n.Launch(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.WaitServing(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(leader, "after a restart of all")
}

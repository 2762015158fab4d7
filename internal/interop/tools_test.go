package interop

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// need ends the test if err says that something is missing.
func need(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("REQUIRE_ZOOKEEPER") != "":
		t.Fatalf("REQUIRE_ZOOKEEPER is set, but: %v", err)
	default:
		t.Skip(err)
	}
}

// A version is that of another client.
type version struct{ major, minor int }

func parseVersion(text string) (v version, err error) {
	if _, err := fmt.Sscanf(text, "%d.%d", &v.major, &v.minor); err != nil {
		return v, fmt.Errorf("version %q: %w", text, err)
	}
	return v, nil
}

func (v version) since(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// output runs a program to its end. The error has the last line of what it complains.
func output(argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		err = fmt.Errorf("%s: %w: %s", argv[0], err, lines[len(lines)-1])
	}
	return strings.TrimSpace(string(out)), err
}

// eventually waits until ok.
func (x *contest) eventually(what string, ok func() bool) {
	x.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			x.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// queued waits until n are in the queue, and returns their znodes in order.
func (x *contest) queued(c *coord.Client, n int) []string {
	x.Helper()
	line := make([]string, n)
	x.eventually(fmt.Sprintf("%d in the queue", n), func() bool {
		names, _, err := c.Conn().Children(x.dir)
		if err != nil && err != zk.ErrNoNode {
			x.Fatal(err)
		}
		copy(line, names)
		return len(names) == n
	})
	slices.SortFunc(line, func(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) })
	return line
}

// watches reports whether the session that has the znode watcher watches the other.
func (x *contest) watches(c *coord.Client, watcher, other string) bool {
	x.Helper()
	ok, stat, err := c.Conn().Exists(x.dir + "/" + watcher)
	if err != nil || !ok {
		return false // it is gone, and watches nothing
	}
	text, err := x.node.Command("wchp")
	if err != nil {
		x.Fatal(err)
	}
	_, sessions, _ := strings.Cut(text, x.dir+"/"+other+"\n")
	for line := range strings.Lines(sessions) {
		session, ok := strings.CutPrefix(line, "\t")
		if !ok {
			break
		}
		if strings.TrimSpace(session) == fmt.Sprintf("0x%x", stat.EphemeralOwner) {
			return true
		}
	}
	return false
}

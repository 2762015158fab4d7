//go:build linux

package ensemble_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// answers tells whether a client at the address given gets an answer from n.
func answers(from string, n *ensemble.Node) bool {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 300 * time.Millisecond}
	c, err := d.Dial("tcp", n.Addr())
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond))
	_, _ = io.WriteString(c, "ruok")
	got, _ := io.ReadAll(c)
	return string(got) == "imok"
}

// A cut hits the hosts and the direction that it names, and nobody else; a server without
// data takes all of them from the leader, which its log tells.
func TestCutAndWipe(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	e := ensemble.New(t, &ensemble.Options{Nodes: 3, Tick: 500 * time.Millisecond, Namespaces: true, Clients: 2, Logs: logs})
	old := e.Settled(t)
	a, b := e.ClientAddr(0), e.ClientAddr(1)
	check := func(when string, n *ensemble.Node, fromA, fromB bool) {
		t.Helper()
		eventually(t, when, func() bool { return answers(a, n) == fromA && answers(b, n) == fromB })
	}
	check("uncut", old, true, true)
	for _, d := range []ensemble.Direction{ensemble.In, ensemble.Out, ensemble.Both} {
		heal, err := e.Cut(old, d, a)
		if err != nil {
			t.Fatal(err)
		}
		if answers(a, old) {
			t.Errorf("an answer to the one that is cut off, %v", d)
		}
		check("the other, "+d.String(), old, false, true)
		heal()
		heal()
		check("healed, "+d.String(), old, true, true)
	}
	heal, err := e.Cut(old, ensemble.Both, e.ClientNet())
	if err != nil {
		t.Fatal(err)
	}
	check("all clients cut off", old, false, false)
	if e.Settled(t) != old {
		t.Error("a leader that clients do not reach has lost the lead")
	}
	heal()
	heal, how, err := e.Slow(old)
	if err != nil {
		t.Log("no slow line here: ", err)
	} else {
		t.Log(how)
		heal()
	}

	c := connect(t, []string{old.Addr()})
	slow := true
	for _, n := range e.Nodes() {
		heal, err := e.SlowDisk(n)
		if err != nil {
			t.Log("no slow disk here: ", err)
			slow = false
			break
		}
		defer heal()
	}
	if began := time.Now(); slow {
		for range 5 { // each is written by a majority, before it is answered
			if _, err := c.Set("/", nil, -1); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 300*time.Millisecond {
			t.Errorf("5 writes to slow disks took %v", took)
		}
	}
	if _, err := c.Create("/kept", []byte("x"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	n := e.Followers()[0]
	if err := n.Wipe(); err != nil {
		t.Fatal(err)
	}
	if err := n.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.Settled(t)
	there := connect(t, []string{n.Addr()})
	eventually(t, "the data are there", func() bool {
		data, _, err := there.Get("/kept")
		return err == nil && string(data) == "x"
	})
	files, _ := filepath.Glob(filepath.Join(logs, "*.log"))
	if len(files) != 4 { // one for each life
		t.Errorf("logs %q", files)
	}
	all := ""
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	if !strings.Contains(all, "Getting a snapshot from leader") {
		t.Errorf("no follower says that it got a snapshot:\n%s", all)
	}
}

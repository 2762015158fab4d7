package interop

import (
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/config"
)

// TestKazooCounter: kazoo's Counter of an int and ours share a znode, whoever makes it, even
// if they add at the same time, and each sees the sum.
func TestKazooCounter(t *testing.T) {
	k := needKazoo(t)
	x := newContest(t)
	const adds = "20"
	theirs := func(path string) chan string {
		said := make(chan string, 1)
		go func() {
			got, err := output(k.python, "-c", `
import sys
from kazoo.client import KazooClient

zk = KazooClient(hosts=sys.argv[1], timeout=40)
zk.start(timeout=60)
counter = zk.Counter(sys.argv[2])
before = counter.value
for _ in range(int(sys.argv[3])):
    counter += 3
    counter -= 1
zk.sync(sys.argv[2])
print(before, counter.value)
zk.stop()
`, x.server, path, adds)
			if err != nil {
				got = err.Error()
			}
			said <- got
		}()
		return said
	}
	hear := func(said chan string, want string) {
		t.Helper()
		if got := <-said; got != want {
			t.Errorf("kazoo says %q, want %q", got, want)
		}
	}
	c := x.client()
	made := config.NewCounter(c, x.dir+"-kazoo") // by kazoo, with empty data at first
	hear(theirs(x.dir+"-kazoo"), "0 40")
	if sum, err := made.Add(x.ctx, -41); sum != -1 || err != nil {
		t.Errorf("after kazoo: %d, %v", sum, err)
	}
	hear(theirs(x.dir+"-kazoo"), "-1 39")

	n := config.NewCounter(c, x.dir+"-ours")
	if _, err := n.Add(x.ctx, 1); err != nil {
		t.Fatal(err)
	}
	said := theirs(x.dir + "-ours")
	for range 20 { // before, while and after it adds
		if _, err := n.Add(x.ctx, 100); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-said; len(strings.Fields(got)) != 2 {
		t.Errorf("kazoo says %q", got)
	}
	if sum, err := n.Get(x.ctx); sum != 1+20*100+40 || err != nil {
		t.Errorf("sum %d, %v", sum, err)
	}
}

// refusesCounts: Curator's counters are refused, with an error that says what they are, and
// stay as they are.
func (x *contest) refusesCounts(p *peer) {
	p.say("counts", x.dir)
	x.hears(p, "done")
	c := x.client()
	for name, want := range map[string]string{
		"shared": "\x00\x00\x00\x07",
		"atomic": "\x00\x00\x00\x00\x00\x00\x00\x07",
	} {
		path := x.dir + "/" + name
		if _, err := config.NewCounter(c, path).Add(x.ctx, 1); err == nil || !strings.Contains(err.Error(), "Curator") {
			x.Errorf("%s: %v", name, err)
		}
		if data, _, err := c.Get(x.ctx, path); string(data) != want || err != nil {
			x.Errorf("%s: %q, %v; want %q", name, data, err, want)
		}
	}
}

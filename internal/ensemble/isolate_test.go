//go:build linux

package ensemble_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// A leader that is isolated is replaced by the others and does not know: for a while
// there are two that say they lead, and clients reach both, but a write is done only
// by the new one. Healed, the old one follows.
func TestIsolate(t *testing.T) {
	t.Parallel()
	e := ensemble.New(t, &ensemble.Options{
		Nodes:      3,
		Tick:       500 * time.Millisecond,
		Namespaces: true,
		JVM:        []string{"-Dzookeeper.forceSync=no"},
		Config:     map[string]string{"syncLimit": "80"}, // so the old leader leads for as long as the test needs
	})
	for _, how := range []ensemble.Isolation{ensemble.Reset, ensemble.Restart} {
		t.Run(string(how), func(t *testing.T) {
			old := e.Settled(t)
			there := connect(t, []string{old.Addr()})
			if _, _, err := there.Get("/"); err != nil {
				t.Fatal(err)
			}
			heal, err := e.Isolate(old, how)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			var next *ensemble.Node
			eventually(t, "another leads", func() bool { next = e.Leader(); return next != nil && next != old })
			t.Logf("another leads after %v", time.Since(began))
			elsewhere := connect(t, []string{next.Addr()})
			if _, err := elsewhere.Create("/"+string(how), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				t.Errorf("a write by the new leader: %v", err)
			}
			if _, err := there.Sync("/"); err != nil {
				t.Errorf("a sync by the old leader: %v", err)
			}
			if ok, _, err := there.Exists("/" + string(how)); ok || err != nil {
				t.Errorf("the old leader knows what the new one has done: %v, %v", ok, err)
			}
			if _, err := there.Create("/none", nil, 0, zk.WorldACL(zk.PermAll)); err == nil {
				t.Error("a write by the old leader")
			}
			heal()
			eventually(t, "the old leader follows", func() bool { return slices.Contains(e.Followers(), old) })
			if ok, _, err := elsewhere.Exists("/none"); ok || err != nil {
				t.Errorf("what the old leader has not done: %v, %v", ok, err)
			}
		})
	}
}

// Where all addresses for tests of networks are routed somewhere, others serve.
func TestAddressesInUse(t *testing.T) {
	ensemble.Require(t, &ensemble.Options{Namespaces: true})
	cmd := exec.Command("unshare", "--net", "sh", "-ec", `ip link set lo up
		ip route add blackhole 198.18.0.0/15
		exec "$0" -test.run=TestStopLeavesNothing/namespaces=true`, os.Args[0])
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

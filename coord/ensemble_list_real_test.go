package coord_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// A client that was given one server of three, and follows the ensemble's list, finds the
// others when that one dies, and keeps its session. One that does not follow it waits.
func TestFollowEnsemble(t *testing.T) {
	e := ensemble.New(t, &ensemble.Options{Nodes: 3, Reconfigurable: true})
	w := harness.On(t, e)
	given := e.Servers()[:1]
	follows := harness.Dial(t, given, &coord.Options{FollowEnsemble: true, Chroot: "/elsewhere"})
	stays := harness.Dial(t, given, nil)
	session := follows.Kit().Session()
	w.Eventually("the list is known", func() bool { return len(follows.EnsembleList()) == 3 })

	_, lost := stays.State()
	e.Node(0).Kill()
	w.Wait("the connection is lost", lost)
	ctx, cancel := context.WithTimeout(bg, 30*time.Second)
	defer cancel()
	if _, _, err := follows.Exists(ctx, "/"); err != nil || follows.Kit().Session() != session {
		t.Errorf("error %v, or another session", err)
	}
	if state, _ := stays.State(); state == coord.Connected {
		t.Error("a client that was given one server found another")
	}
}

// When a server leaves the ensemble and comes back, a client that follows the list learns of
// both.
func TestFollowReconfiguration(t *testing.T) {
	e := ensemble.New(t, &ensemble.Options{Nodes: 3, Reconfigurable: true, JVM: []string{"-Dzookeeper.skipACL=yes"}})
	w := harness.On(t, e)
	follows, op := harness.Dial(t, e.Servers()[:1], &coord.Options{FollowEnsemble: true}), harness.Dial(t, e.Servers()[:1], nil)
	w.Eventually("the list is known", func() bool { return len(follows.EnsembleList()) == 3 })
	// If that server is the leader, the connection is lost when it goes.
	config, _, err := op.Conn().Get("/zookeeper/config")
	must(t, err)
	line := regexp.MustCompile(`(?m)^server\.3=.*$`).FindString(string(config))
	has := func() bool { return slices.Contains(follows.EnsembleList(), e.Servers()[2]) }
	for _, there := range []bool{false, true} {
		w.Eventually(fmt.Sprintf("the third server is in the list: %t", there), func() bool {
			if there != has() {
				var err error
				if there {
					_, err = op.Conn().IncrementalReconfig([]string{line}, nil, -1)
				} else {
					_, err = op.Conn().IncrementalReconfig(nil, []string{"3"}, -1)
				}
				if err != nil {
					t.Logf("reconfig: %v", err)
				}
			}
			return there == has()
		})
	}
}

// A server that stands alone names none: the servers that were given are good.
func TestFollowEnsembleOfOne(t *testing.T) {
	bubble(t, func(w *world) {
		var j journal
		l := w.line()
		c := w.client(l, coord.Options{FollowEnsemble: true, Logger: j.logger()})
		w.Flap(c, l.Reset)
		w.Rest()
		if names := c.EnsembleList(); len(names) > 0 || strings.Contains(j.String(), "not followed") {
			t.Errorf("names %q; log:\n%s", names, &j)
		}
	})
}

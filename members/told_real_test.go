package members_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/members"
)

// On real servers, too, a View of a group that is told, and not listed, is what there is:
// while members come and go as fast as they can, some of which may not be read, and the
// connection breaks.
func TestToldOnRealServer(t *testing.T) {
	w := harness.On(t, ensemble.Shared(t))
	c, op := w.Client(harness.Long), w.Op()
	const n, rounds = 200, 60
	id := func(i int) string { return fmt.Sprintf("%s/m%04d", w.Dir, i) }
	create := func(path, data string, acl []zk.ACL) {
		_, err := op.Create(path, []byte(data), 1, acl)
		w.Must(err)
	}
	w.Create(w.Dir, "")
	for i := range n {
		create(id(i), "0", world)
	}
	s := members.New(c.Client, w.Dir).Watch(t.Context())
	sees := func(round int, hidden bool) {
		t.Helper()
		w.Eventually(fmt.Sprintf("round %d is seen, with one that may not be read: %v", round, hidden), func() bool {
			v, ok := s.Latest()
			if !ok || v.Suspended || len(v.Members) != n || (v.Err != nil) != hidden {
				return false
			}
			m, there := v.Member(fmt.Sprintf("m%04d", n+round))
			return there && string(m.Data) == "new"
		})
	}
	for round := range rounds {
		w.Must(op.Delete(id(round), -1))
		create(id(n+round), "new", world)
		switch round % 6 {
		case 2:
			create(w.Dir+"/hidden", "", zk.WorldACL(zk.PermAll&^zk.PermRead))
			sees(round, true)
		case 3:
			sees(round, true)
			w.Must(op.Delete(w.Dir+"/hidden", -1))
			sees(round, false)
		case 4:
			c.Link.Reset()
		case 5:
			sees(round, false)
			time.Sleep(time.Millisecond)
		}
	}
	sees(rounds-1, false)
}

package watch

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A message is what reaches a Loop through its inbox.
type message interface{ String() string }

type (
	subscribed   struct{ sub *subscription }
	unsubscribed struct{ sub *subscription }
	heard        struct{ zk.Event }
	suspended    struct{}
	resumed      struct{ newSession bool }
	rearmedOn    struct{ data, exist, child []string }
	rested       struct{ f *followed }
	answer       struct {
		f     *followed
		snap  event.Snapshot
		armed watch
		err   error
	}
)

func (m subscribed) String() string   { return fmt.Sprint("subscribed ", m.sub.key) }
func (m unsubscribed) String() string { return fmt.Sprint("unsubscribed ", m.sub.key) }
func (m heard) String() string        { return fmt.Sprint(m.Type, " ", m.Path) }
func (suspended) String() string      { return "suspended" }
func (m resumed) String() string      { return fmt.Sprint("resumed, new session: ", m.newSession) }
func (m rearmedOn) String() string    { return fmt.Sprint("rearmed ", m.data, m.exist, m.child) }
func (m rested) String() string       { return fmt.Sprint("rested ", m.f.key) }
func (m answer) String() string       { return fmt.Sprint("answer ", m.f.key, m.snap, m.armed, m.err) }

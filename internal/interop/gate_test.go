package interop

import (
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/members/barrier"
)

// gate: a DistributedBarrier of Curator, or a Barrier of kazoo, and a Gate of ours are the
// same. Whoever closes it, both wait in front of it, and both go when it is opened, whoever
// does that.
func (x *contest) gate(p *process) {
	keeper, waiter := p.peers[0], p.peers[1]
	path := x.dir + "/gate"
	g := barrier.NewGate(x.client(), path)
	for _, t := range []struct{ oursCloses, oursOpens bool }{{true, false}, {false, true}, {true, true}, {false, false}} {
		act := func(ours bool, word string, f func() error) {
			x.Helper()
			if !ours {
				keeper.say(word, path)
				x.hears(keeper, "done")
			} else if err := f(); err != nil {
				x.Fatal(err)
			}
		}
		act(t.oursCloses, "close", func() error { return g.Close(x.ctx) })
		waiter.say("pass", path)
		passed := make(chan error, 1)
		go func() { passed <- g.Wait(x.ctx) }()
		x.eventually("both wait", func() bool { return x.watchers(path) == 2 })
		_ = waiter.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := waiter.in.Peek(1); err == nil {
			x.Errorf("%+v: theirs has passed a closed gate", t)
		}
		select {
		case err := <-passed:
			x.Fatalf("%+v: ours has passed a closed gate, with %v", t, err)
		default:
		}
		act(t.oursOpens, "open", func() error { return g.Open(x.ctx) })
		x.hears(waiter, "done")
		if err := <-passed; err != nil {
			x.Errorf("%+v: %v", t, err)
		}
	}
}

// watchers returns how many sessions watch the znode at path.
func (x *contest) watchers(path string) (n int) {
	x.Helper()
	text, err := x.node.Command("wchp")
	if err != nil {
		x.Fatal(err)
	}
	_, sessions, _ := strings.Cut(text, path+"\n")
	for line := range strings.Lines(sessions) {
		if !strings.HasPrefix(line, "\t") {
			break
		}
		n++
	}
	return n
}

package ensemble

import (
	"fmt"
	"strings"
	"sync"
)

// An Isolation is a way in which a server loses the others, though not its clients.
type Isolation string

const (
	// Silence loses everything between the server and the others. Both sides find
	// out after syncLimit, 5 ticks.
	Silence Isolation = "silence"
	// Reset loses the same, but the others find their connections to the server
	// reset when they next use them, which takes half a tick if it leads. To the
	// server it is silence.
	Reset Isolation = "reset"
	// Restart is silence during which the others are killed and start anew.
	Restart Isolation = "restart"
)

// Isolate cuts n off from the other servers until heal is called, which must be
// before Stop. The ensemble must have been started with Options.Namespaces. After
// Restart it does not wait until the others serve.
func (e *Ensemble) Isolate(n *Node, how Isolation) (heal func(), err error) {
	if e.net == nil {
		panic("ensemble: Isolate without Options.Namespaces")
	}
	self, others := 0, []int(nil)
	for i, node := range e.nodes {
		if node == n {
			self = i
		} else {
			others = append(others, i)
		}
	}
	rules := make([][]string, len(e.nodes)) // by server
	for _, i := range others {
		if how == Reset {
			rules[i] = append(rules[i], "OUTPUT -d "+e.net.host(self)+" -p tcp -j REJECT --reject-with tcp-reset")
		} else {
			rules[self] = append(rules[self], "INPUT -s "+e.net.host(i)+" -j DROP", "OUTPUT -d "+e.net.host(i)+" -j DROP")
		}
	}
	heal, err = e.impose(rules)
	if err != nil {
		return nil, err
	}
	if how == Restart {
		for _, i := range others {
			e.nodes[i].Kill()
			if err := e.nodes[i].Launch(); err != nil {
				heal()
				return nil, err
			}
		}
	}
	return heal, nil
}

// impose adds rules to those of the servers, by their index, until heal is called.
func (e *Ensemble) impose(rules [][]string) (heal func(), err error) {
	done := 0 // servers that have their rules
	heal = sync.OnceFunc(func() {
		for i := range rules[:done] {
			if err := e.net.filter(i, "-D", rules[i]); err != nil {
				panic("ensemble: " + err.Error())
			}
		}
	})
	for i := range rules {
		if err := e.net.filter(i, "-A", rules[i]); err != nil {
			heal()
			return nil, err
		}
		done++
	}
	return heal, nil
}

// filter adds rules to those of server i or deletes them, all at once.
func (n *network) filter(i int, verb string, rules []string) error {
	if len(rules) == 0 {
		return nil
	}
	var input strings.Builder
	input.WriteString("*filter\n")
	for _, rule := range rules {
		fmt.Fprintf(&input, "%s %s\n", verb, rule)
	}
	input.WriteString("COMMIT\n")
	return within(n.hosts[i], input.String(), "iptables-restore", "--noflush", "--wait")
}

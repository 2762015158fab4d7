package ensemble

import (
	"slices"
	"strings"
	"sync"
)

// A Direction is that of packets, as a server sees it.
type Direction uint8

const (
	In   Direction = 1 << iota // to the server
	Out                        // from the server
	Both = In | Out
)

func (d Direction) String() string {
	return [...]string{"neither way", "in", "out", "both ways"}[d&Both]
}

// Cut loses what travels in direction d between n and the hosts until heal is called,
// which must be before Stop. A host is an address or a network, such as those of Host,
// ClientAddr and ClientNet. The ensemble must have been started with
// Options.Namespaces.
func (e *Ensemble) Cut(n *Node, d Direction, hosts ...string) (heal func(), err error) {
	if e.net == nil {
		panic("ensemble: Cut without Options.Namespaces")
	}
	rules := make([][]string, len(e.nodes))
	own := &rules[slices.Index(e.nodes, n)]
	for _, host := range hosts {
		if d&In != 0 {
			*own = append(*own, "INPUT -s "+host+" -j DROP")
		}
		if d&Out != 0 {
			*own = append(*own, "OUTPUT -d "+host+" -j DROP")
		}
	}
	return e.impose(rules)
}

// Host returns the address of n without its port.
func (e *Ensemble) Host(n *Node) string { return n.addr[:strings.LastIndexByte(n.addr, ':')] }

// ClientAddr returns the i-th address for client programs, from 0. Such a program makes
// its connections from there.
func (e *Ensemble) ClientAddr(i int) string { return e.net.address(firstClient + i) }

// ClientNet returns the network that all addresses for client programs are in, and
// nobody else is.
func (e *Ensemble) ClientNet() string { return e.net.address(firstClient) + "/25" }

// Slow makes what n sends, to everybody, take long until heal is called, which must be
// before Stop, and says how: by a delay, where the kernel can do that, or else by a line
// on which the packets wait for each other. The ensemble must have been started with
// Options.Namespaces.
func (e *Ensemble) Slow(n *Node) (heal func(), how string, err error) {
	if e.net == nil {
		panic("ensemble: Slow without Options.Namespaces")
	}
	host := e.net.hosts[slices.Index(e.nodes, n)]
	for _, how := range []string{"netem delay 80ms 40ms", "tbf rate 256kbit burst 2kb latency 600ms"} {
		if err = within(host, "", append([]string{"tc", "qdisc", "add", "dev", "eth0", "root"}, strings.Fields(how)...)...); err == nil {
			return sync.OnceFunc(func() {
				if err := within(host, "", "tc", "qdisc", "del", "dev", "eth0", "root"); err != nil {
					panic("ensemble: " + err.Error())
				}
			}), how, nil
		}
	}
	return nil, "", err
}

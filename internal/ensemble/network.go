package ensemble

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
)

// A network gives each server a network namespace of its own. A bridge, in one
// more, joins them with each other and with us: so nothing that the machine's own
// rules say of forwarding matters. The namespaces have no names. They last while
// somebody has them open or runs in them, so the kernel removes them and all their
// links when this process ends, however it ends.
type network struct {
	name  string // of our end of the link to the bridge
	block string // of ranges: the first two bytes of the addresses
	third int    // byte of the addresses
	hub   *os.File
	hosts []*os.File
}

// The addresses are a /24 of the range for testing networks, or where all of that is
// routed, as by some VPNs, of a private one. The third byte goes with the name of our link, so that two processes cannot choose
// the same.
var ranges = []string{"198.18", "198.19", "10.213"}

// Last bytes of the addresses: ours, of server 0, and of client 0.
const ours, first, firstClient = 1, 11, 128

func (n *network) prefix() string          { return fmt.Sprintf("%s.%d.0/24", n.block, n.third) }
func (n *network) address(last int) string { return fmt.Sprintf("%s.%d.%d", n.block, n.third, last) }

// host returns the address of server i.
func (n *network) host(i int) string { return n.address(first + i) }

func newNetwork(servers, clients int) (*network, error) {
	n := new(network)
	if err := n.build(servers, clients); err != nil {
		n.close()
		return nil, fmt.Errorf("network for the servers: %w", err)
	}
	return n, nil
}

func (n *network) build(servers, clients int) (err error) {
	if n.hub, err = newNamespace(); err != nil {
		return err
	}
	if err := n.join(); err != nil {
		return err
	}
	var more strings.Builder
	for i := range clients {
		fmt.Fprintf(&more, "addr add %s/24 dev %s\n", n.address(firstClient+i), n.name)
	}
	if err := within(nil, more.String(), "ip", "-batch", "-"); err != nil {
		return err
	}
	if err := within(n.hub, "link add bridge type bridge\nlink set bridge up\nlink set up0 master bridge up\n", "ip", "-batch", "-"); err != nil {
		return err
	}
	for i := range servers {
		host, err := newNamespace()
		if err != nil {
			return err
		}
		n.hosts = append(n.hosts, host)
		if err := within(n.hub, fmt.Sprintf("link add down%d master bridge up type veth peer name eth0 netns %s\n", i, path(host)), "ip", "-batch", "-"); err != nil {
			return err
		}
		if err := within(host, fmt.Sprintf("link set lo up\naddr add %s/24 dev eth0\nlink set eth0 up\n", n.host(i)), "ip", "-batch", "-"); err != nil {
			return err
		}
	}
	return nil
}

// join links us to the bridge, with addresses that nobody uses.
func (n *network) join() error {
	thirds := rand.Perm(256)
	for i := range 256 * len(ranges) {
		n.block, n.third = ranges[i/256], thirds[i%256]
		if used, err := routed(n.prefix()); err != nil {
			return err
		} else if used {
			continue
		}
		name := fmt.Sprintf("zkens%d", n.third)
		err := within(nil, fmt.Sprintf("link add %s type veth peer name up0 netns %s\n", name, path(n.hub)), "ip", "-batch", "-")
		if err != nil && strings.Contains(err.Error(), "File exists") {
			continue // somebody was faster
		} else if err != nil {
			return err
		}
		n.name = name
		return within(nil, fmt.Sprintf("addr add %s/24 dev %s\nlink set %s up\n", n.address(ours), name, name), "ip", "-batch", "-")
	}
	return fmt.Errorf("no free addresses in %v", ranges)
}

// routed tells whether there is a route to prefix, or to a part of it, other than
// the one to everywhere.
func routed(prefix string) (bool, error) {
	for _, which := range []string{"match", "root"} {
		routes, err := exec.Command("ip", "-4", "route", "show", which, prefix).Output()
		if err != nil {
			return false, fmt.Errorf("ip route: %w", err)
		}
		for route := range strings.Lines(string(routes)) {
			if !strings.HasPrefix(route, "default ") {
				return true, nil
			}
		}
	}
	return false, nil
}

// close removes everything. The servers must have ended.
func (n *network) close() {
	if n.name != "" {
		// The kernel would do it as well, a little later.
		_ = exec.Command("ip", "link", "del", n.name).Run()
	}
	for _, ns := range append(n.hosts, n.hub) {
		ns.Close() // nil, perhaps
	}
}

// path names a namespace for other programs, while it is open here.
func path(ns *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), ns.Fd()) }

// enter is a command line that runs in ns what follows it, as the same process.
func enter(ns *os.File) []string { return []string{"nsenter", "--net=" + path(ns)} }

// within runs a command, with this input, in ns, or where we are if that is nil.
func within(ns *os.File, input string, command ...string) error {
	if ns != nil {
		command = append(enter(ns), command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s\n%s", strings.Join(command, " "), err, out, input)
	}
	return nil
}

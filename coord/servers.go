package coord

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// ParseServers splits a connect string as ZooKeeper's own tools take it, such as
// "zk1:2181,zk2:2181,[2001:db8::1]:2181/app", into servers for [Dial] and a chroot for
// [Options], which is empty if there is none. It resolves no names.
func ParseServers(connect string) (servers []string, chroot string, err error) {
	list := connect
	if i := strings.IndexByte(connect, '/'); i >= 0 {
		list, chroot = connect[:i], connect[i:]
		if err := zkpath.Check(chroot); err != nil {
			return nil, "", fmt.Errorf("connect string %q: chroot: %w", connect, err)
		}
	}
	if chroot == "/" {
		chroot = ""
	}
	for server := range strings.SplitSeq(list, ",") {
		if server = strings.TrimSpace(server); server != "" {
			servers = append(servers, server)
		}
	}
	if servers, err = addresses(servers); err != nil {
		return nil, "", fmt.Errorf("connect string %q: %w", connect, err)
	}
	return servers, chroot, nil
}

// addresses returns servers with ZooKeeper's default port where none is given. Names are
// checked only as far as needed to tell a mistake, such as a list in one string, from a
// server that does not answer: nothing else would ever say so.
func addresses(servers []string) ([]string, error) {
	if len(servers) == 0 {
		return nil, errors.New("no servers given")
	}
	addrs := make([]string, len(servers))
	for i, server := range servers {
		if strings.ContainsAny(server, ",/") {
			return nil, fmt.Errorf("invalid server %q: not one host:port; see ParseServers for a connect string", server)
		}
		host, port, err := net.SplitHostPort(server)
		if err != nil { // no port: a name, an IPv4 address, or an IPv6 one with or without brackets
			host, port = strings.TrimSuffix(strings.TrimPrefix(server, "["), "]"), strconv.Itoa(zk.DefaultPort)
			if strings.Contains(host, ":") && !isIP(host) {
				if e := new(net.AddrError); errors.As(err, &e) {
					err = errors.New(e.Err) // without the address, which it has as it was given
				}
				return nil, fmt.Errorf("invalid server %q: %w", server, err)
			}
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("invalid server %q: port %q", server, port)
		}
		if host == "" || strings.ContainsAny(host, " ,/") {
			return nil, fmt.Errorf("invalid server %q: host %q", server, host)
		}
		addrs[i] = net.JoinHostPort(host, port)
	}
	return addrs, nil
}

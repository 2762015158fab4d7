package coord

import (
	"context"
	"net"
	"strconv"
	"strings"

	"github.com/zkcoord/zkcoord/event"
)

// ensemblePath is the znode in which ensembles have their own configuration, since 3.5.
const ensemblePath = "/zookeeper/config"

// followEnsemble follows the servers that the ensemble names. A list with none of which
// clients are told changes nothing, and neither does one that may not be read.
func (c *Client) followEnsemble() {
	list := c.loop.Watch(c.ctx, ensemblePath, ensemblePath, event.Data)
	c.kit.Go(func(context.Context) {
		for {
			select {
			case snap := <-list.Updates():
				if names := ensembleServers(snap.Data); len(names) > 0 {
					c.servers.source.follow(names)
				}
			case <-list.Done():
				if c.ctx.Err() == nil {
					c.report.unfollowed(list.Err())
				}
				return
			}
		}
	})
}

// ensembleServers returns the servers that a configuration names to clients, as host:port.
// It has lines such as these:
//
//	server.1=zk1:2888:3888:participant;0.0.0.0:2181
//	server.2=10.0.0.2:2888:3888|10.1.0.2:2888:3888:observer;2181
//	version=100000003
//
// What is behind the semicolon is for clients. An address that stands for all of the
// server's means the host before it.
func ensembleServers(data []byte) (names []string) {
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if !strings.HasPrefix(key, "server.") {
			continue
		}
		inner, outer, _ := strings.Cut(value, ";")
		host, port := "", outer
		if i := strings.LastIndexByte(outer, ':'); i >= 0 {
			host, port = strings.Trim(outer[:i], "[]"), outer[i+1:]
		}
		if host == "" || host == "0.0.0.0" || strings.Trim(host, "0:") == "" {
			host = firstHost(inner)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 && host != "" {
			names = append(names, net.JoinHostPort(host, port))
		}
	}
	if names, err := addresses(names); err == nil {
		return names
	}
	return nil
}

// firstHost returns the host with which a server's addresses begin: that of
// "zk1:2888:3888:participant" or of "[2001:db8::1]:2888:3888".
func firstHost(inner string) string {
	if inner, ok := strings.CutPrefix(inner, "["); ok {
		host, _, _ := strings.Cut(inner, "]")
		return host
	}
	host, _, _ := strings.Cut(inner, ":")
	return host
}

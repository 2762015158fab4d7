package coord

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// A server is one that a client can dial.
type server struct {
	name string // host:port as the program, or the ensemble, has it
	addr string // the same, or with one of the addresses for which the host stands
}

// String returns the server as ZooKeeper's own clients print it: "zk1/10.0.0.7:2181" if
// its host was looked up.
func (s server) String() string {
	if s.addr == s.name {
		return s.name
	}
	return s.host() + "/" + s.addr
}

// host returns the host of the name.
func (s server) host() string {
	host, _, _ := net.SplitHostPort(s.name) // the name was made by JoinHostPort
	return host
}

// unlisted stands for the servers while Options.Servers has named none.
var unlisted = server{"Options.Servers", "Options.Servers"}

// A serverSource says which servers there are, anew for each turn. It remembers what it has
// found last, for turns in which it is not told: names may be unknown for as long as a
// cluster is in trouble.
type serverSource struct {
	// list is Options.Servers, and lookup is Options.LookupHost; nil if there is none.
	list   func(context.Context) ([]string, error)
	lookup func(context.Context, string) ([]string, error)

	mu sync.Mutex
	// given are host:port: those that were passed to Dial, or the last that list has named.
	given []string
	// ensemble are those that the ensemble has named.
	ensemble []string
	// hosts are addresses by host.
	hosts map[string][]string
}

func newServerSource(given []string, o *Options) *serverSource {
	return &serverSource{list: o.Servers, lookup: o.LookupHost, given: given, hosts: make(map[string][]string)}
}

// turn returns the servers of the next turn; never none. In the even rounds since a server
// was last good they are those that the ensemble has named, if it has named any.
func (r *serverSource) turn(ctx context.Context, round int) ([]server, error) {
	r.mu.Lock()
	names, ensemble := r.given, r.ensemble
	r.mu.Unlock()
	switch {
	case len(ensemble) > 0 && round%2 == 0:
		names = ensemble
	case r.list != nil:
		listed, err := r.listIn(ctx, len(names) > 0)
		if err == nil {
			listed, err = addresses(listed)
		}
		if err != nil && len(names) == 0 {
			return nil, err
		}
		if err == nil {
			names = listed
			r.mu.Lock()
			r.given = names
			r.mu.Unlock()
		}
	}
	return r.expand(ctx, names), nil
}

// follow notes the servers that the ensemble has named.
func (r *serverSource) follow(names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ensemble = names
}

// listIn returns what Options.Servers names. Where servers are known, they are not waited
// for long.
func (r *serverSource) listIn(ctx context.Context, known bool) ([]string, error) {
	if known {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, share(ctx))
		defer cancel()
	}
	return r.list(ctx)
}

// share returns how much of the time until ctx ends may be spent on what is not needed: the
// lease of the session may be running out.
func share(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline) / 8
	}
	return time.Second
}

// expand returns the servers for which names stand, each once. A name that cannot be looked
// up stands for itself, so that the attempt to dial it says why. When there is an address to
// dial, the other lookups are not waited for long.
func (r *serverSource) expand(ctx context.Context, names []string) (all []server) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make([][]string, len(names))
	enough := sync.OnceFunc(func() { time.AfterFunc(share(ctx), cancel) })
	var lookups sync.WaitGroup
	for i, name := range names {
		lookups.Go(func() {
			found[i] = r.addressesOf(ctx, server{name, name}.host(), enough)
		})
	}
	lookups.Wait()
	for i, name := range names {
		_, port, _ := net.SplitHostPort(name)
		dials := []string{name}
		for j, addr := range found[i] {
			if j == 0 {
				dials = nil
			}
			dials = append(dials, net.JoinHostPort(addr, port))
		}
		for _, addr := range dials {
			if !slices.ContainsFunc(all, func(s server) bool { return s.addr == addr }) {
				all = append(all, server{name, addr})
			}
		}
	}
	return all
}

// addressesOf returns the addresses of host; none if it is an address itself, or if there is
// nothing to learn. It calls enough as soon as there is something to dial.
func (r *serverSource) addressesOf(ctx context.Context, host string, enough func()) []string {
	if r.lookup == nil || isIP(host) {
		enough()
		return nil
	}
	r.mu.Lock()
	known := r.hosts[host]
	r.mu.Unlock()
	if len(known) > 0 {
		enough()
	}
	addrs, err := r.lookup(ctx, host)
	if err != nil || len(addrs) == 0 {
		return known
	}
	enough()
	r.mu.Lock()
	r.hosts[host] = slices.Clone(addrs)
	r.mu.Unlock()
	return addrs
}

// isIP reports whether host is an address, perhaps with a zone.
func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

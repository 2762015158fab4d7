package coord_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/lock"
)

// A zone answers as a resolver does, and reaches servers by their addresses.
type zone struct {
	mu    sync.Mutex
	hosts map[string][]string
	lines map[string]*coordtest.Link // by address; what dials another is left waiting
	asked int
	dials []string
}

var errNoHost = errors.New("no such host")

func (z *zone) LookupHost(_ context.Context, host string) ([]string, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked++
	if addrs := z.hosts[host]; len(addrs) > 0 {
		return addrs, nil
	}
	return nil, errNoHost
}

func (z *zone) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	z.mu.Lock()
	z.dials = append(z.dials, addr)
	host, _, _ := net.SplitHostPort(addr)
	line, err := z.lines[host], error(nil)
	if line == nil && net.ParseIP(host) == nil {
		err = errNoHost
	}
	z.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case line == nil:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return line.Dial(ctx, network, addr)
}

// dialed returns what was dialed since the last call, each once, sorted.
func (z *zone) dialed() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	dials := z.dials
	z.dials = nil
	slices.Sort(dials)
	return slices.Compact(dials)
}

func (z *zone) set(host string, addrs ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.hosts[host] = addrs
}

// A name that stands for several servers is all of them: those that do not answer cost no
// more time than if each had been given by itself.
func TestNameStandsForAllItsAddresses(t *testing.T) {
	bubble(t, func(w *world) {
		byName := &zone{hosts: map[string][]string{"zk": {"10.0.0.1", "10.0.0.2", "fd00::3"}}, lines: map[string]*coordtest.Link{"fd00::3": w.line()}}
		took := func(servers []string) time.Duration {
			start := time.Now()
			c, err := coord.Dial(bg, servers, &coord.Options{Dial: byName.Dial, LookupHost: byName.LookupHost})
			must(t, err)
			must(t, c.Close())
			return time.Since(start)
		}
		var name, each time.Duration
		for range 20 { // the order is random
			name = max(name, took([]string{"zk:2181"}))
			each = max(each, took([]string{"10.0.0.1", "10.0.0.2", "[fd00::3]"}))
		}
		if name > each {
			t.Errorf("by their name after %v, one by one after %v", name, each)
		}
		if got, want := byName.dialed(), []string{"10.0.0.1:2181", "10.0.0.2:2181", "[fd00::3]:2181"}; !slices.Equal(got, want) {
			t.Errorf("dialed %q, want %q", got, want)
		}
	})
}

// Names are looked up at each turn, so that a client finds servers that have moved, in the
// same session. While nobody knows a name the addresses found last are good.
func TestNamesAreLookedUpAtEachTurn(t *testing.T) {
	bubble(t, func(w *world) {
		first, second := w.line(), w.line()
		z := &zone{hosts: map[string][]string{"zk": {"10.0.0.1"}}, lines: map[string]*coordtest.Link{"10.0.0.1": first, "10.0.0.2": second}}
		c, err := coord.Dial(bg, []string{"zk"}, &coord.Options{Dial: z.Dial, LookupHost: z.LookupHost})
		must(t, err)
		defer c.Close()
		session := c.Kit().Session()

		z.set("zk", "10.0.0.2")
		w.Flap(c, func() { first.Cut() })
		if got := z.dialed(); !slices.Contains(got, "10.0.0.2:2181") {
			t.Errorf("dialed %q", got)
		}
		z.set("zk")
		w.Flap(c, second.Reset)
		if got, want := z.dialed(), []string{"10.0.0.2:2181"}; !slices.Equal(got, want) {
			t.Errorf("dialed %q, want %q", got, want)
		}
		if c.Kit().Session() != session {
			t.Error("the session is another")
		}
	})
}

// What several names stand for is dialed once, and what is wrong with an address is told
// with its name.
func TestAddressesAreToldWithTheirNames(t *testing.T) {
	bubble(t, func(w *world) {
		z := &zone{hosts: map[string][]string{"a": {"10.0.0.1", "10.0.0.2"}, "b": {"10.0.0.2"}}}
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		_, err := coord.Dial(ctx, []string{"a", "b", "c:99", "10.0.0.1:2181"}, &coord.Options{Dial: z.Dial, LookupHost: z.LookupHost})
		for _, want := range []string{"a/10.0.0.1:2181: context deadline exceeded", "a/10.0.0.2:2181: ", "c:99: no such host"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
		if got, want := z.dialed(), []string{"10.0.0.1:2181", "10.0.0.2:2181", "c:99"}; !slices.Equal(got, want) || !errors.Is(err, errNoHost) {
			t.Errorf("dialed %q, want %q; error %v", got, want, err)
		}
	})
}

// A program that dials in its own way is given the names, as through a proxy that looks
// them up itself.
func TestOwnDialIsGivenTheNames(t *testing.T) {
	bubble(t, func(w *world) {
		l, names := w.line(), make(chan string, 1)
		c, err := coord.Dial(bg, []string{"zk.example"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			names <- addr
			return l.Dial(ctx, network, addr)
		}})
		must(t, err)
		must(t, c.Close())
		if name := <-names; name != "zk.example:2181" {
			t.Errorf("dialed %q", name)
		}
	})
}

// With 50 servers of which one answers, Dial finds it in its first turn.
func TestManyServers(t *testing.T) {
	bubble(t, func(w *world) {
		var servers []string
		refusing := &zone{lines: map[string]*coordtest.Link{"10.0.0.50": w.line()}}
		for i := range 50 {
			servers = append(servers, fmt.Sprint("10.0.0.", i+1))
			if i < 49 {
				l := w.line()
				l.Cut()
				refusing.lines[servers[i]] = l
			}
		}
		w.Within(soon, "Dial", func() {
			c, err := coord.Dial(bg, append(servers, servers...), &coord.Options{Dial: refusing.Dial, LookupHost: refusing.LookupHost})
			must(t, err)
			must(t, c.Close())
		})
		if refusing.asked > 0 {
			t.Errorf("%d addresses were looked up", refusing.asked)
		}
	})
}

// A server that was found by its name is held to it: no certificate has its address.
func TestTLSIsToTheName(t *testing.T) {
	cert, pool := certificate(t, time.Hour)
	host, port, _ := net.SplitHostPort(serveTLS(t, &tls.Config{Certificates: []tls.Certificate{cert}}))
	ctx, cancel := context.WithTimeout(bg, 30*time.Second)
	defer cancel()
	for name, good := range map[string]bool{"localhost": true, "other.example": false} {
		c, err := coord.Dial(ctx, []string{name + ":" + port}, &coord.Options{
			TLS:        &tls.Config{RootCAs: pool},
			LookupHost: func(context.Context, string) ([]string, error) { return []string{host}, nil },
		})
		if good {
			must(t, err)
			must(t, c.Close())
		} else if err == nil || !strings.Contains(err.Error(), name+"/"+host) || !strings.Contains(err.Error(), "not "+name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Servers from a function are asked for at each turn. Its error, if it has never named
// any, is that of Dial; later the last servers are good. It may end its goroutine.
func TestServersFromFunction(t *testing.T) {
	bubble(t, func(w *world) {
		errDown := errors.New("discovery is down")
		for name, f := range map[string]func() ([]string, error){
			"fails":                func() ([]string, error) { return nil, errDown },
			"names none":           func() ([]string, error) { return nil, nil },
			"names one badly":      func() ([]string, error) { return []string{"a,b"}, nil },
			"ends its goroutine":   func() ([]string, error) { runtime.Goexit(); return nil, nil },
			"names what is silent": func() ([]string, error) { return []string{"10.0.0.9"}, nil },
		} {
			z := new(zone)
			ctx, cancel := context.WithTimeout(bg, 10*time.Second)
			_, err := coord.Dial(ctx, nil, &coord.Options{Dial: z.Dial, Servers: func(context.Context) ([]string, error) { return f() }})
			cancel()
			want := map[string]string{
				"fails": "Options.Servers: discovery is down", "names none": "no servers given", "names one badly": `invalid server "a,b"`,
				"ends its goroutine": "ended its goroutine", "names what is silent": "10.0.0.9:2181: ",
			}[name]
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) || errors.Is(err, errDown) != (name == "fails") {
				t.Errorf("%s: error %v, want %q", name, err, want)
			}
		}
		if _, err := coord.Dial(bg, []string{"a"}, &coord.Options{Servers: func(context.Context) ([]string, error) { return nil, nil }}); err == nil || !strings.Contains(err.Error(), "beside Options.Servers") {
			t.Errorf("both: error %v", err)
		}

		z := &zone{lines: map[string]*coordtest.Link{"10.0.0.1": w.line(), "10.0.0.2": w.line()}}
		var mu sync.Mutex
		names, failure := []string{"10.0.0.1"}, error(nil)
		c, err := coord.Dial(bg, nil, &coord.Options{Dial: z.Dial, Servers: func(context.Context) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			return names, failure
		}})
		must(t, err)
		defer c.Close()
		mu.Lock()
		names = []string{"10.0.0.2"}
		mu.Unlock()
		w.Flap(c, func() { z.lines["10.0.0.1"].Cut() })
		mu.Lock()
		names, failure = nil, errDown
		mu.Unlock()
		z.dialed()
		w.Flap(c, z.lines["10.0.0.2"].Reset)
		if got, want := z.dialed(), []string{"10.0.0.2:2181"}; !slices.Equal(got, want) {
			t.Errorf("dialed %q, want %q", got, want)
		}
	})
}

// Addresses that a client has found long ago are not tried: servers may have moved since,
// all of them, and a hold must survive that.
func TestOldAddressesAreNotTried(t *testing.T) {
	bubble(t, func(w *world) {
		z := &zone{hosts: map[string][]string{}, lines: map[string]*coordtest.Link{}}
		var names []string
		for i := range 5 {
			names = append(names, fmt.Sprint("zk-", i))
			z.lines[fmt.Sprint("10.0.0.", i)], z.lines[fmt.Sprint("10.0.1.", i)] = w.line(), w.line()
			z.set(names[i], fmt.Sprint("10.0.0.", i))
		}
		c, err := coord.Dial(bg, names, &coord.Options{Dial: z.Dial, LookupHost: z.LookupHost, SessionTimeout: harness.T})
		must(t, err)
		defer c.Close()
		h := lock.New(c, "/lock").Acquire(bg)
		must(t, h.Wait())
		time.Sleep(time.Hour) // virtual
		z.dialed()
		for i, name := range names {
			z.set(name, fmt.Sprint("10.0.1.", i))
		}
		w.Flap(c, func() {
			for i := range names {
				z.lines[fmt.Sprint("10.0.0.", i)].Cut()
			}
		})
		for _, addr := range z.dialed() {
			if !strings.HasPrefix(addr, "10.0.1.") {
				t.Errorf("dialed %s", addr)
			}
		}
		must(t, h.Err())
	})
}

// While names cannot be looked up, because the resolver is silent, the addresses that are
// known are tried in time for what is held: also if one of the servers is silent, too.
func TestSilentResolverCostsNoHold(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second, 30 * time.Second} {
		bubble(t, func(w *world) {
			z := &zone{hosts: map[string][]string{"zk": {"10.0.0.1", "10.0.0.2", "10.0.0.3"}}, lines: map[string]*coordtest.Link{"10.0.0.1": w.line(), "10.0.0.2": w.line(), "10.0.0.3": w.line()}}
			var silent atomic.Bool
			c, err := coord.Dial(bg, []string{"zk"}, &coord.Options{Dial: z.Dial, SessionTimeout: timeout, LookupHost: func(ctx context.Context, host string) ([]string, error) {
				if silent.Load() {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return z.LookupHost(ctx, host)
			}})
			must(t, err)
			defer c.Close()
			h := lock.New(c, "/lock").Acquire(bg)
			must(t, h.Wait())
			silent.Store(true)
			time.Sleep(timeout) // virtual
			_, at, _ := strings.Cut(c.Conn().Server(), "/")
			host, _, _ := net.SplitHostPort(at)
			w.Flap(c, func() { z.lines[host].Stall(coordtest.Both) })
			if h.Err() != nil {
				t.Errorf("T=%v: %v", timeout, h.Err())
			}
		})
	}
}

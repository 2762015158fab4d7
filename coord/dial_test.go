package coord_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

func TestDialRefusesNonsenseAtOnce(t *testing.T) {
	one := []string{"server"}
	canceled, cancel := context.WithCancelCause(bg)
	cause := errors.New("lost interest")
	cancel(cause)
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		servers []string
		opts    coord.Options
		want    string
	}{
		{"no servers", bg, nil, coord.Options{}, "no servers"},
		{"empty host", bg, []string{""}, coord.Options{}, "host"},
		{"port without host", bg, []string{":2181"}, coord.Options{}, "host"},
		{"list in one string", bg, []string{"a:1,b:2"}, coord.Options{}, `"a:1,b:2"`},
		{"chroot in the address", bg, []string{"a:2181/app"}, coord.Options{}, `"a:2181/app"`},
		{"blank in host", bg, []string{"a b"}, coord.Options{}, "host"},
		{"port not a number", bg, []string{"a:zk"}, coord.Options{}, `"zk"`},
		{"port too large", bg, []string{"a:65536"}, coord.Options{}, `"65536"`},
		{"port zero", bg, []string{"a:0"}, coord.Options{}, `"0"`},
		{"port empty", bg, []string{"a:"}, coord.Options{}, `port ""`},
		{"too many colons", bg, []string{"a:1:2"}, coord.Options{}, `"a:1:2"`},
		{"the second server", bg, []string{"a", "b:x"}, coord.Options{}, `"b:x"`},
		{"negative timeout", bg, one, coord.Options{SessionTimeout: -time.Second}, "session timeout -1s"},
		{"tiny timeout", bg, one, coord.Options{SessionTimeout: 10}, "session timeout 10ns"},
		{"timeout beyond the protocol", bg, one, coord.Options{SessionTimeout: 25 * 24 * time.Hour}, "session timeout 600h"},
		{"relative chroot", bg, one, coord.Options{Chroot: "app"}, "chroot"},
		{"chroot ending in a slash", bg, one, coord.Options{Chroot: "/app/"}, "chroot"},
		{"chroot with an empty element", bg, one, coord.Options{Chroot: "/a//b"}, "chroot"},
		{"empty ACL", bg, one, coord.Options{ACL: []coord.ACL{}}, "empty ACL"},
		{"ACL without permissions", bg, one, coord.Options{ACL: []coord.ACL{{Perms: 0, Scheme: "world", ID: "anyone"}}}, "ACL"},
		{"ACL with unknown permissions", bg, one, coord.Options{ACL: []coord.ACL{{Perms: 0x40, Scheme: "world", ID: "anyone"}}}, "ACL"},
		{"credential without scheme", bg, one, coord.Options{Auth: []coord.Auth{{Credential: []byte("secret")}}}, "scheme"},
		{"ctx over", canceled, one, coord.Options{}, cause.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // a bubble fails if a goroutine is left
				start := time.Now()
				tt.opts.Dial = func(context.Context, string, string) (net.Conn, error) {
					t.Error("a server was dialed")
					return nil, errors.New("no")
				}
				c, err := coord.Dial(tt.ctx, tt.servers, &tt.opts)
				if c != nil || err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
					t.Errorf("Dial = %v, %v; want an error that says %q", c, err, tt.want)
				}
				var e *coord.Error
				if !errors.As(err, &e) || e.Op != "dial" {
					t.Errorf("error is a %T, want an *Error of dial", err)
				}
				if time.Since(start) != 0 {
					t.Errorf("took %v", time.Since(start))
				}
			})
		})
	}
	if _, err := coord.Dial(canceled, one, nil); !errors.Is(err, cause) {
		t.Errorf("Dial with a canceled ctx: %v, want its cause", err)
	}
}

// bad are servers that give nobody a session, by name, and what Dial says of
// them.
var bad = map[string]struct {
	why  string
	dial func(ctx context.Context) (net.Conn, error)
}{
	"refused":   {"connection refused", func(context.Context) (net.Conn, error) { return nil, errors.New("connection refused") }},
	"blackhole": {"context deadline exceeded", func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }},
	"mute":      {"server fell silent", answers(func(net.Conn) bool { return true })},
	"half":      {"server fell silent", answers(func(c net.Conn) bool { c.Write([]byte{0, 0, 0, 37}); return true })},
	"hangsup":   {"EOF", answers(func(net.Conn) bool { return false })},
	"garbage": {"does not speak the protocol", answers(func(c net.Conn) bool {
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		return true
	})},
	"short": {"does not speak the protocol", answers(func(c net.Conn) bool {
		c.Write([]byte{0, 0, 0, 16, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8})
		return true
	})},
	"nothing": {"neither connection nor error", func(context.Context) (net.Conn, error) { return nil, nil }},
}

// answers returns a dialer to a server that reads the handshake and gives f as
// its answer; then it is silent, or hangs up if f is false.
func answers(f func(net.Conn) bool) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			server.Read(make([]byte, 100))
			if f(server) {
				io.Copy(io.Discard, server)
			}
		}()
		return client, nil
	}
}

func dialBad(ctx context.Context, _, addr string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(addr)
	return bad[host].dial(ctx)
}

// R61: whatever the servers do, Dial ends with ctx and says why.
func TestDialEndsWithItsContext(t *testing.T) {
	for name := range bad {
		for _, d := range []time.Duration{time.Millisecond, 50 * time.Millisecond, time.Second, 3 * time.Second, 7 * time.Second, 59 * time.Second} {
			t.Run(fmt.Sprint(name, d), func(t *testing.T) {
				bubble(t, func(w *world) {
					ctx, cancel := context.WithTimeout(bg, d)
					defer cancel()
					w.Within(d+soon, "Dial", func() {
						_, err := coord.Dial(ctx, []string{name}, &coord.Options{Dial: dialBad})
						if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), name+":2181: ") {
							t.Errorf("error %v, want that of ctx, with what is wrong with %s", err, name)
						}
						if d > 10*time.Second && !strings.Contains(err.Error(), bad[name].why) {
							t.Errorf("error %v, want %q", err, bad[name].why)
						}
					})
				})
			})
		}
	}
}

func TestDialNamesEveryServerAndWhy(t *testing.T) {
	bubble(t, func(w *world) {
		var servers []string
		for name := range bad {
			servers = append(servers, name)
		}
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		_, err := coord.Dial(ctx, servers, &coord.Options{Dial: dialBad})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v, want that of ctx", err)
		}
		for name, server := range bad {
			_, said, _ := strings.Cut(err.Error(), name+":2181: ")
			said, _, _ = strings.Cut(said, ";")
			if !strings.Contains(said, server.why) {
				t.Errorf("of %s it says %q, want %q", name, said, server.why)
			}
		}
	})
}

var errTooEarly = errors.New("too early")

// One good server among bad ones is found, and a program that waits for the
// ensemble to start gets in when it has.
func TestDialFindsTheOneThatAnswers(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		start := time.Now()
		servers := []string{"good"}
		for name := range bad {
			servers = append(servers, name)
		}
		for range 20 { // the order is random
			c, err := coord.Dial(bg, servers, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				switch {
				case !strings.HasPrefix(addr, "good:"):
					return dialBad(ctx, network, addr)
				case time.Since(start) < time.Minute:
					return nil, errTooEarly
				}
				return l.Dial(ctx, network, addr)
			}})
			must(t, err)
			c.Close()
		}
	})
}

// Real sockets behave as pipes do.
func TestDialEndsWithItsContextOverTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close() // the kernel accepts; nobody answers
	ctx, cancel := context.WithTimeout(bg, 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = coord.Dial(ctx, []string{l.Addr().String()}, nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), l.Addr().String()+": no answer yet") {
		t.Errorf("error %v, want that of ctx, with the server's address", err)
	}
	if took := time.Since(start); took > 200*time.Millisecond+soonOnReal {
		t.Errorf("took %v", took)
	}
}

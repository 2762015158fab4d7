package coord_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/lock"
)

// demanding are the configurations with which a server demands authentication.
var demanding = map[string]map[string]string{
	"enforced SASL":   {"enforce.auth.enabled": "true", "enforce.auth.schemes": "sasl"},
	"required SASL":   {"sessionRequireClientSASLAuth": "true"},
	"enforced digest": {"enforce.auth.enabled": "true", "enforce.auth.schemes": "digest"},
}

// knowsSASL is what a server must be told before it can demand SASL.
var knowsSASL = []string{"-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}

// said dials by dial and returns what the server answers behind the handshake, as
// "xid code".
func said(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error), addr string, auth []coord.Auth) []string {
	t.Helper()
	var mu sync.Mutex
	var answers []string
	ctx, cancel := context.WithTimeout(bg, 30*time.Second)
	defer cancel()
	c, err := coord.Dial(ctx, []string{addr}, &coord.Options{Auth: auth, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &harness.Tap{Conn: conn, Reply: func(body []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			h := jute.NewDecoder(body).ReplyHeader()
			answers = append(answers, fmt.Sprint(h.Xid, " ", int32(h.Code)))
			return body
		}}, err
	}})
	if !errors.Is(err, zk.ErrAuthFailed) {
		t.Errorf("Dial: %v, want that authentication has failed", err)
	}
	if err == nil {
		c.Close()
	}
	return answers
}

// Real servers that demand authentication end Dial at once, with the reason, and
// the bouncer of the other tests does as they do. With what they demand all works.
func TestServersThatDemand(t *testing.T) {
	digest := []coord.Auth{{Scheme: "digest", Credential: []byte("u:" + secret)}}
	fake := coordtest.NewServer(t)
	b := &bouncer{dial: fake.Dial}
	b.demands.Store(true)
	for name, config := range demanding {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := ensemble.New(t, &ensemble.Options{Config: config, JVM: knowsSASL}).Servers()[0]
			tcp := new(net.Dialer).DialContext
			if got, want := said(t, tcp, addr, nil), said(t, b.Dial, "fake", nil); !slices.Equal(got, want) {
				t.Errorf("without a credential the server says %q, the fake %q", got, want)
			}
			if !strings.HasSuffix(name, "digest") {
				if got, want := said(t, tcp, addr, digest), said(t, b.Dial, "fake", digest); !slices.Equal(got, want) {
					t.Errorf("with another credential the server says %q, the fake %q", got, want)
				}
				return
			}
			ctx, cancel := context.WithTimeout(bg, 30*time.Second)
			defer cancel()
			c, err := coord.Dial(ctx, []string{addr}, &coord.Options{Auth: digest})
			must(t, err)
			defer c.Close()
			h := lock.New(c, "/lock").Acquire(ctx)
			must(t, h.Wait())
			must(t, h.Release(ctx))
		})
	}
}

// A real server that demands authentication is not stormed for as long as there is
// another that might serve the client.
func TestServerThatDemandsIsNotStormed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	down := l.Addr().String()
	l.Close()
	addr := ensemble.New(t, &ensemble.Options{Config: demanding["required SASL"], JVM: knowsSASL}).Servers()[0]
	var dials atomic.Int32
	ctx, cancel := context.WithTimeout(bg, 5*time.Second)
	defer cancel()
	var j journal
	_, err = coord.Dial(ctx, []string{addr, down}, &coord.Options{
		Auth:   []coord.Auth{{Scheme: "digest", Credential: []byte("u:" + secret)}},
		Logger: j.logger(),
		Dial: func(ctx context.Context, network, to string) (net.Conn, error) {
			if to == addr {
				dials.Add(1)
			}
			return new(net.Dialer).DialContext(ctx, network, to)
		},
	})
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, zk.ErrAuthFailed) || strings.Contains(err.Error()+j.String(), secret) {
		t.Errorf("error %v; log:\n%s", err, &j)
	}
	if n := dials.Load(); n > stormless {
		t.Errorf("%d connections in 5 s", n)
	}
	if n := strings.Count(j.String(), `msg="no session from zookeeper server" server=`+addr); n != 1 {
		t.Errorf("the log says %d times that there is no session from the server:\n%s", n, &j)
	}
	t.Logf("%d connections in 5 s", dials.Load())
}

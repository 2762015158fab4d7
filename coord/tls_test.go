package coord_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// certificate returns one for 127.0.0.1 that is signed by itself and good for a
// time from now on, and a pool that has it.
func certificate(t *testing.T, life time.Duration) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "ensemble"},
		NotAfter:              time.Now().Add(life),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:              []string{"localhost"},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// serveTLS returns the address of a server behind TLS.
func serveTLS(t *testing.T, config *tls.Config) string {
	server := coordtest.NewServer(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := server.Dial(bg, "", "")
			if err != nil {
				near.Close()
				return
			}
			wg.Go(func() { io.Copy(far, near); far.Close(); near.Close() })
			wg.Go(func() { io.Copy(near, far); far.Close(); near.Close() })
		}
	})
	t.Cleanup(func() { l.Close(); server.Close(); wg.Wait() })
	return l.Addr().String()
}

func TestTLS(t *testing.T) {
	cert, pool := certificate(t, time.Hour)
	addr := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{cert}})
	ctx, cancel := context.WithTimeout(bg, 30*time.Second)
	defer cancel()
	c, err := coord.Dial(ctx, []string{addr}, &coord.Options{TLS: &tls.Config{RootCAs: pool}})
	must(t, err)
	must(t, c.Kit().Session().MakeDir(ctx, "/a/b"))
	if _, ok, err := c.Exists(ctx, "/a/b"); !ok || err != nil {
		t.Errorf("exists: %v, %v", ok, err)
	}
	must(t, c.Close())
}

// What is wrong with a server's certificate, or with ours, or that one side speaks
// TLS and the other does not, is told with the server's name, in words and for
// errors.As. If trying again would not change it, Dial ends at once, else with its
// ctx.
func TestTLSRefused(t *testing.T) {
	cert, pool := certificate(t, time.Hour)
	addr := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{cert}})
	strict := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool})
	old, trustsOld := certificate(t, -time.Hour)
	expired := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{old}})
	plain := coordtest.NewServer(t).Addr()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer mute.Close()
	trusting := &tls.Config{RootCAs: pool}
	for _, tt := range []struct {
		name    string
		servers []string
		want    string // of the first server
		as      any
		final   bool
		config  *tls.Config
	}{
		{"unknown authority", []string{addr}, "TLS: tls: failed to verify certificate: x509: certificate signed by unknown authority", new(x509.UnknownAuthorityError), true, &tls.Config{}},
		{"another name", []string{addr}, "other.example", new(x509.HostnameError), true, &tls.Config{RootCAs: pool, ServerName: "other.example"}},
		{"no certificate of ours", []string{strict}, "remote error: tls: certificate required", new(*net.OpError), true, trusting},
		{"all for good", []string{addr, strict}, "unknown authority", new(*tls.CertificateVerificationError), true, &tls.Config{}},
		{"one not for good", []string{addr, plain}, "unknown authority", new(x509.UnknownAuthorityError), false, &tls.Config{}},
		{"expired", []string{expired}, "expired", new(x509.CertificateInvalidError), false, &tls.Config{RootCAs: trustsOld}},
		{"no TLS there", []string{plain}, "TLS: server hung up on the handshake: it does not expect TLS, perhaps: ", nil, false, trusting},
		{"something else there", []string{serve(t, "HTTP/1.1 400 Bad Request\r\n\r\n")}, "does not look like a TLS handshake", new(tls.RecordHeaderError), true, trusting},
		{"mute", []string{mute.Addr().String()}, "no answer yet", nil, false, trusting},
		{"TLS not expected", []string{addr}, "it expects TLS, perhaps, or has no quorum: ", nil, false, nil},
		{"TLS not expected, and said so", []string{serve(t, "\x15\x03\x01\x00\x02\x02\x46")}, "server speaks TLS", nil, true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			patience := 500 * time.Millisecond
			if tt.final {
				patience = 30 * time.Second
			}
			ctx, cancel := context.WithTimeout(bg, patience)
			defer cancel()
			start := time.Now()
			_, err := coord.Dial(ctx, tt.servers, &coord.Options{TLS: tt.config})
			if errors.Is(err, context.DeadlineExceeded) == tt.final || !strings.Contains(err.Error(), tt.servers[0]+": ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q of %s", err, tt.want, tt.servers[0])
			}
			if tt.as != nil && !errors.As(err, tt.as) {
				t.Errorf("error %v, want a %T", err, tt.as)
			}
			if took := time.Since(start); took > patience+soonOnReal {
				t.Errorf("took %v", took)
			}
		})
	}
}

// serve returns the address of a server that gives everybody the same answer and
// hangs up.
func serve(t *testing.T, answer string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4096)) // lest the answer be lost
			io.WriteString(conn, answer)
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

// A server among others that are not to be trusted is found.
func TestTLSFindsTheOneThatIsTrusted(t *testing.T) {
	good, pool := certificate(t, time.Hour)
	bad, _ := certificate(t, time.Hour)
	servers := []string{serveTLS(t, &tls.Config{Certificates: []tls.Certificate{good}})}
	for range 3 {
		servers = append(servers, serveTLS(t, &tls.Config{Certificates: []tls.Certificate{bad}}))
	}
	for range 5 { // the order is random
		ctx, cancel := context.WithTimeout(bg, 30*time.Second)
		c, err := coord.Dial(ctx, servers, &coord.Options{TLS: &tls.Config{RootCAs: pool}})
		must(t, err)
		must(t, c.Close())
		cancel()
	}
}

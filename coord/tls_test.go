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

// certificate returns one for 127.0.0.1 that is signed by itself, and who trusts
// it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "ensemble"},
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
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
func serveTLS(t *testing.T, cert tls.Certificate) string {
	server := coordtest.NewServer(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
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
	cert, pool := certificate(t)
	addr := serveTLS(t, cert)
	ctx, cancel := context.WithTimeout(bg, 30*time.Second)
	defer cancel()
	c, err := coord.Dial(ctx, []string{addr}, &coord.Options{TLS: &tls.Config{RootCAs: pool}})
	must(t, err)
	must(t, c.Session().MakeDir(ctx, "/a/b"))
	if ok, err := coord.Read(ctx, c, exists("/a/b")); !ok || err != nil {
		t.Errorf("exists: %v, %v", ok, err)
	}
	must(t, c.Close())
}

// What is wrong with a server's certificate, or that it does not speak TLS, is
// told with its name, when ctx ends, and that in time.
func TestTLSRefused(t *testing.T) {
	cert, pool := certificate(t)
	addr := serveTLS(t, cert)
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer mute.Close()
	for _, tt := range []struct {
		name, addr, want string
		config           *tls.Config
	}{
		{"unknown authority", addr, "TLS: tls: failed to verify certificate: x509: certificate signed by unknown authority", &tls.Config{}},
		{"another name", addr, "other.example", &tls.Config{RootCAs: pool, ServerName: "other.example"}},
		{"no TLS there", coordtest.NewServer(t).Addr(), "TLS: ", &tls.Config{RootCAs: pool}},
		{"mute", mute.Addr().String(), "no answer yet", &tls.Config{RootCAs: pool}},
		{"TLS not expected", addr, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(bg, 300*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := coord.Dial(ctx, []string{tt.addr}, &coord.Options{TLS: tt.config})
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tt.addr+": ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q of %s", err, tt.want, tt.addr)
			}
			if took := time.Since(start); took > 300*time.Millisecond+real {
				t.Errorf("took %v", took)
			}
		})
	}
}

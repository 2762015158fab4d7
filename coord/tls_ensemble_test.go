package coord_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// secured returns the addresses of a real server: for clients that speak TLS, and
// for those that do not. Of the first it wants a certificate as auth says.
func secured(t *testing.T, cert tls.Certificate, auth string) (string, string) {
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey.(*ecdsa.PrivateKey))
	must(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
	trust, keys := filepath.Join(t.TempDir(), "trust.pem"), filepath.Join(t.TempDir(), "keys.pem")
	must(t, os.WriteFile(trust, text, 0o600))
	must(t, os.WriteFile(keys, append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), text...), 0o600))
	e := ensemble.New(t, &ensemble.Options{Secure: true, Config: map[string]string{
		"serverCnxnFactory":       "org.apache.zookeeper.server.NettyServerCnxnFactory",
		"ssl.clientAuth":          auth,
		"ssl.keyStore.location":   keys,
		"ssl.trustStore.location": trust,
	}})
	return e.Node(0).SecureAddr(), e.Servers()[0]
}

// Real servers and clients of which one expects TLS, or a certificate, that the
// other has not got: what Dial says, and whether it waits for better times.
func TestTLSOnServer(t *testing.T) {
	cert, pool := certificate(t, time.Hour)
	secure, plain := secured(t, cert, "none")
	strict, _ := secured(t, cert, "need")
	nio := ensemble.Shared(t).Servers()[0]
	trusting := &tls.Config{RootCAs: pool}
	for _, tt := range []struct {
		name, addr string
		config     *tls.Config
		want       string // empty: no error
		final      bool
	}{
		{"trusted", secure, trusting, "", false},
		{"trusted both ways", strict, &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}}, "", false},
		{"client not trusted", strict, trusting, "remote error: tls: ", true},
		{"server not trusted", secure, &tls.Config{}, "unknown authority", true},
		{"another name", secure, &tls.Config{RootCAs: pool, ServerName: "other.example"}, "other.example", true},
		{"TLS not expected by the client", secure, nil, "it expects TLS, perhaps", false},
		{"TLS not expected by the server", plain, trusting, "it does not expect TLS, perhaps", false},
		{"TLS not expected by a server of the other kind", nio, trusting, "it does not expect TLS, perhaps", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			patience := 30 * time.Second
			if tt.want != "" && !tt.final {
				patience = 2 * time.Second
			}
			ctx, cancel := context.WithTimeout(bg, patience)
			defer cancel()
			c, err := coord.Dial(ctx, []string{tt.addr}, &coord.Options{TLS: tt.config})
			if err == nil {
				c.Close()
			}
			switch {
			case tt.want == "":
				must(t, err)
			case !strings.Contains(fmt.Sprint(err), tt.want) || errors.Is(err, context.DeadlineExceeded) == tt.final:
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

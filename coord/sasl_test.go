package coord_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
	"github.com/zkcoord/zkcoord/lock"
)

// A saslDoor stands before a server that knows no SASL, and answers for it.
type saslDoor struct {
	t      *testing.T
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	answer func(response []byte) (challenge []byte, code jute.Code)

	mu        sync.Mutex
	responses []string
	early     bool // something else came first
}

func (s *saslDoor) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	server, err := s.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	var writing sync.Mutex
	go func() {
		defer far.Close()
		for {
			frame, err := readFrame(server)
			if err != nil {
				return
			}
			writing.Lock()
			far.Write(frame)
			writing.Unlock()
		}
	}()
	go func() {
		defer server.Close()
		defer far.Close()
		for n := 0; ; n++ {
			frame, err := readFrame(far)
			if err != nil {
				return
			}
			d := jute.NewDecoder(frame[4:])
			if h := d.RequestHeader(); n == 0 || h.Op != jute.OpSASL {
				s.mu.Lock()
				s.early = s.early || n == 1
				s.mu.Unlock()
				server.Write(frame)
				continue
			} else {
				response := d.Bytes()
				s.mu.Lock()
				s.responses = append(s.responses, string(response))
				s.mu.Unlock()
				challenge, code := s.answer(response)
				e := jute.NewReply(h.Xid, 0, code)
				e.Bytes(challenge)
				writing.Lock()
				far.Write(e.Frame())
				writing.Unlock()
			}
		}
	}()
	return near, nil
}

func readFrame(r io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	frame := append(head, make([]byte, binary.BigEndian.Uint32(head))...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// An echo is a mechanism that says how often it was asked.
type echo struct {
	steps, last int
	step        func(ctx context.Context) error
}

func (e *echo) Step(ctx context.Context, challenge []byte) ([]byte, error) {
	e.steps++
	if e.step != nil {
		return nil, e.step(ctx)
	}
	return fmt.Appendf(nil, "%d after %q %t", e.steps, challenge, challenge == nil), nil
}

func (e *echo) Complete() bool { return e.steps == e.last }

// A mechanism of the program's own is asked until it is complete, on every connection and
// before anything else is sent.
func TestSASLMechanism(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		door := &saslDoor{t: t, dial: l.Dial, answer: func([]byte) ([]byte, jute.Code) { return []byte("go on"), jute.OK }}
		hosts := make(chan string, 10)
		c, err := coord.Dial(bg, []string{"zk.example"}, &coord.Options{Dial: door.Dial, SASL: func(host string) (coord.SASL, error) {
			hosts <- host
			return &echo{last: 2}, nil
		}})
		must(t, err)
		defer c.Close()
		w.Flap(c, l.Reset)
		h := lock.New(c, "/lock").Acquire(bg)
		must(t, h.Wait())
		must(t, h.Release(bg))
		door.mu.Lock()
		defer door.mu.Unlock()
		got := strings.Join(door.responses, "; ")
		if want := `1 after "" true; 2 after "go on" false`; got != want+"; "+want || door.early {
			t.Errorf("responses %s; something came before them: %t", got, door.early)
		}
		if len(hosts) != 2 || <-hosts != "zk.example" {
			t.Error("Options.SASL was not called once for each connection with its host")
		}
	})
}

// What fails in an authentication ends the connection. If the server has refused the
// client, Dial ends at once and says so; what is the mechanism's own trouble may pass.
func TestSASLRefused(t *testing.T) {
	errKDC := errors.New("no answer from the KDC")
	digest := coord.DigestMD5("bob", secret)
	says := func(challenge string, code jute.Code) func([]byte) ([]byte, jute.Code) {
		return func([]byte) ([]byte, jute.Code) { return []byte(challenge), code }
	}
	offer := `realm="zk-sasl-md5",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess`
	for _, tt := range []struct {
		name   string
		sasl   func(string) (coord.SASL, error)
		answer func([]byte) ([]byte, jute.Code)
		want   string
		final  bool
	}{
		{"refused by the server", digest, says("", jute.CodeAuthFailed), `credential of scheme "sasl" refused`, true},
		{"required, and refused", digest, says("", jute.CodeAuthenticationMissing), "without the authentication that it requires", true},
		{"not offered", digest, func([]byte) ([]byte, jute.Code) { return nil, jute.OK }, "DIGEST-MD5: not offered by the server", true},
		{"something else offered", digest, says("KERBEROS=1", jute.OK), "another mechanism", true},
		{"not proven", digest, says(offer, jute.OK), `DIGEST-MD5: user "bob" or its password refused, or the server does not know it`, true},
		{"malformed", digest, says(`realm="zk`, jute.OK), "DIGEST-MD5: challenge of 9 bytes: malformed", false},
		{"no mechanism", func(string) (coord.SASL, error) { return nil, errKDC }, says("", jute.OK), "Options.SASL: no answer from the KDC", false},
		{"neither", func(string) (coord.SASL, error) { return nil, nil }, says("", jute.OK), "neither mechanism nor error", false},
		{"fails", func(string) (coord.SASL, error) {
			return &echo{step: func(context.Context) error { return errKDC }}, nil
		}, says("", jute.OK), "SASL: no answer from the KDC", false},
		{"hangs", func(string) (coord.SASL, error) {
			return &echo{step: func(ctx context.Context) error { <-ctx.Done(); return errKDC }}, nil
		}, says("", jute.OK), "SASL: no answer from the KDC", false},
		{"ends its goroutine", func(string) (coord.SASL, error) {
			return &echo{step: func(context.Context) error { runtime.Goexit(); return nil }}, nil
		}, says("", jute.OK), "SASL: coord: function ended its goroutine", false},
		{"never ends", func(string) (coord.SASL, error) { return &echo{}, nil }, says("", jute.OK), "SASL: no end after", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				var j journal
				door := &saslDoor{t: t, dial: w.line().Dial, answer: tt.answer}
				ctx, cancel := context.WithTimeout(bg, time.Minute)
				defer cancel()
				_, err := coord.Dial(ctx, []string{"server"}, &coord.Options{Dial: door.Dial, SASL: tt.sasl, Logger: j.logger()})
				if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, context.DeadlineExceeded) == tt.final || errors.Is(err, coord.ErrAuthFailed) != tt.final {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				if strings.Contains(fmt.Sprint(err, &j, door.responses), secret) {
					t.Errorf("the secret is told: %v; log:\n%s", err, &j)
				}
			})
		})
	}
}

// With a real server that requires SASL everything works as without, on later connections
// and in later sessions too, and znodes can be opened to a user alone.
func TestDigestMD5OnServer(t *testing.T) {
	jaas := filepath.Join(t.TempDir(), "jaas.conf")
	must(t, os.WriteFile(jaas, []byte(`Server {
		org.apache.zookeeper.server.auth.DigestLoginModule required
		user_bob="`+secret+`"
		user_eve="other";
	};`), 0o600))
	e := ensemble.New(t, &ensemble.Options{
		Config: map[string]string{"sessionRequireClientSASLAuth": "true"},
		JVM:    append([]string{"-Djava.security.auth.login.config=" + jaas}, knowsSASL...),
	})
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	l := coordtest.NewLink(nil)
	defer l.Close()
	bob, err := coord.Dial(ctx, e.Servers(), &coord.Options{
		SASL: coord.DigestMD5("bob", secret), Dial: l.Dial, SessionTimeout: harness.T,
		ACL: []coord.ACL{{Perms: coord.PermAll, Scheme: "sasl", ID: "bob"}},
	})
	must(t, err)
	defer bob.Close()
	eve, err := coord.Dial(ctx, e.Servers(), &coord.Options{SASL: coord.DigestMD5("eve", "other")})
	must(t, err)
	defer eve.Close()

	h := lock.New(bob, "/lock").Acquire(ctx)
	must(t, h.Wait())
	if _, err := eve.Create(ctx, "/lock/x", nil, 0); !errors.Is(err, coord.ErrNoAuth) {
		t.Errorf("another user: %v", err)
	}
	l.Reset()
	create(t, bob, "/lock/y", "", 0)
	heal := l.Cut()
	<-h.Lost()
	heal()
	create(t, bob, "/lock/z", "", 0)

	for name, sasl := range map[string]func(string) (coord.SASL, error){
		"none": nil, "wrong password": coord.DigestMD5("bob", "wrong"), "unknown user": coord.DigestMD5("nobody", "wrong"),
	} {
		c, err := coord.Dial(ctx, e.Servers(), &coord.Options{SASL: sasl})
		if err == nil {
			c.Close()
		}
		if !errors.Is(err, coord.ErrAuthFailed) || ctx.Err() != nil || strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	other := ensemble.Shared(t)
	_, err = coord.Dial(ctx, other.Servers(), &coord.Options{SASL: coord.DigestMD5("bob", secret)})
	if !errors.Is(err, coord.ErrAuthFailed) || !strings.Contains(err.Error(), "not offered by the server") {
		t.Errorf("a server without SASL: %v", err)
	}
}

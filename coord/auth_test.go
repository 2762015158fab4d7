package coord_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

const secret = "hunter2"

// A refused credential ends Dial, and says which scheme it was, and no more. It
// may take a few attempts: a server that hangs up behind its refusal can destroy
// it on the way. Between attempts Dial pauses, each time for longer, so the bound
// leaves room for several in a row that are lost.
func TestDialWithWrongCredentials(t *testing.T) {
	for name, auth := range map[string][]coord.Auth{
		"alone":  {{Scheme: "kerberos", Credential: []byte(secret)}},
		"first":  {{Scheme: "kerberos", Credential: []byte(secret)}, {Scheme: "digest", Credential: []byte("u:" + secret)}},
		"second": {{Scheme: "digest", Credential: []byte("u:" + secret)}, {Scheme: "kerberos", Credential: []byte(secret)}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				bubble(t, func(w *world) {
					var j journal
					w.Within(5*time.Second, "Dial", func() {
						_, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: w.line().Dial, Auth: auth, Logger: j.logger()})
						if !errors.Is(err, zk.ErrAuthFailed) || !strings.Contains(err.Error(), `"kerberos"`) {
							t.Errorf("error %v, want that the credential of scheme kerberos is refused", err)
						}
						if strings.Contains(err.Error()+j.String(), secret) {
							t.Errorf("the secret is told: %v; log:\n%s", err, &j)
						}
					})
				})
			}
		})
	}
}

// R61: with credentials Dial waits for an answer to them, and no longer than its
// ctx.
func TestDialWithCredentialsEndsWithItsContext(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		l.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "auth" || f.Op == "exists" {
				return coordtest.Drop
			}
			return coordtest.Pass
		})
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		w.Within(time.Second+soon, "Dial", func() {
			_, err := coord.Dial(ctx, []string{"server"}, &coord.Options{Dial: l.Dial, Auth: []coord.Auth{{Scheme: "digest", Credential: []byte("u:" + secret)}}})
			if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), secret) {
				t.Errorf("error %v", err)
			}
		})
	})
}

// What one client guards another cannot read without the credential; with it
// the first can, also after a reconnect and in a new session; and the secret is
// in no log.
func TestCredentialsOnEveryConnection(t *testing.T) {
	bubble(t, func(w *world) {
		var j journal
		l := w.line()
		auth := coord.Auth{Scheme: "digest", Credential: []byte("u:" + secret)}
		c := w.client(l, coord.Options{Auth: []coord.Auth{auth}, ACL: []coord.ACL{auth.ACL(coord.PermAll)}, Logger: j.logger()})
		other := w.client(w.line(), coord.Options{})
		must(t, c.Kit().Session().MakeDir(bg, "/ours/deep"))
		get := func(c *coord.Client) error {
			_, _, err := c.Get(bg, "/ours/deep")
			return err
		}
		for range 3 {
			must(t, get(c))
			if err := get(other); !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("without the credential: %v, want %v", err, zk.ErrNoAuth)
			}
			w.Flap(c, l.Reset)
			must(t, get(c))
			w.Flap(c, func() { w.Fake.Expire(c.Kit().Session().ID()) })
		}
		for _, text := range []string{fmt.Sprint(auth), fmt.Sprintf("%v %+v %#v %s", auth, auth, auth, auth), j.String()} {
			if strings.Contains(text, secret) || text == "" {
				t.Errorf("the secret is told, or nothing at all:\n%s", text)
			}
		}
		if !strings.Contains(j.String(), "connected") {
			t.Errorf("log:\n%s", &j)
		}
	})
}

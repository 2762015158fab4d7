package coord_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
)

// A Hold whose recipe gives no cause for its end ends with an error all the same, and
// that can be printed.
func TestHoldEndsWithACause(t *testing.T) {
	for name, run := range map[string]func(*coord.Keeper) error{
		"nil from run": func(*coord.Keeper) error { return nil },
		"nil to End":   func(k *coord.Keeper) error { k.End(nil); return errEnough },
		"nil to End when it is held": func(k *coord.Keeper) error {
			err := k.Acquired(renewed(k), "", 1)
			k.End(nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				h := w.client(w.line(), coord.Options{}).Kit().NewHold(bg, "hold", "/h", run)
				<-h.Done()
				var e *coord.Error
				if held := isClosed(h.Acquired()); held != strings.HasSuffix(name, "held") {
					t.Errorf("held: %v", held)
				}
				if err := h.Err(); !errors.As(err, &e) || e.Err == nil || errors.Is(err, errEnough) || err.Error() == "" {
					t.Errorf("Err = %#v", h.Err())
				}
			})
		})
	}
	if got := (&coord.Error{Op: "hold", Path: "/h"}).Error(); got != "hold /h: no cause given" {
		t.Errorf("an Error without a cause says %q", got)
	}
}

// renewed returns a session in which something can be held.
func renewed(k *coord.Keeper) *coord.Session {
	s, err := k.Await(bg)
	if err == nil {
		err = s.Renew(bg, "/")
	}
	if err != nil {
		panic(err)
	}
	return s
}

// A Hold is acquired once: a second time is an error, and changes nothing.
func TestAcquiredOnce(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		again := make(chan error, 1)
		h := c.Kit().NewHold(bg, "hold", "/h", func(k *coord.Keeper) error {
			s := renewed(k)
			if err := k.Acquired(s, "", 1); err != nil {
				t.Error(err)
			}
			again <- k.Acquired(s, "/other", 2)
			<-k.Released()
			return nil
		})
		if err := <-again; err == nil {
			t.Error("acquired twice")
		}
		if err := h.Err(); err != nil || h.Token() != 1 {
			t.Errorf("after that it has token %d, and ended with %v", h.Token(), err)
		}
		must(t, h.Release(bg))
	})
}

// A Hold on a path that is none ends with that, and its recipe is not run, as with
// NewStream.
func TestHoldOnAnInvalidPath(t *testing.T) {
	bubble(t, func(w *world) {
		var waits []string
		c := w.client(w.line(), coord.Options{Trace: &coord.Trace{WaitEnd: func(_ context.Context, i coord.HoldInfo) { waits = append(waits, i.Path) }}})
		h := c.Kit().NewHold(bg, "hold", "h/", func(*coord.Keeper) error {
			t.Error("run is called")
			return errEnough
		})
		<-h.Done()
		if err := h.Wait(); !errors.Is(err, coord.ErrInvalidPath) || err.Error()[:8] != "hold h/:" {
			t.Errorf("Wait = %v", err)
		}
		must(t, h.Release(bg))
		must(t, c.Close())
	})
}

// An ACL is asked for what cannot be one: a scheme that has no hash, or a credential
// without a password. Dial says so, and does not print the credential; a server refuses it.
func TestACLOfAnotherAuth(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{})
		for _, tt := range []struct {
			auth coord.Auth
			want string
		}{
			{coord.Auth{Scheme: "ip", Credential: []byte("se:cret")}, `scheme "digest" and not "ip"`},
			{coord.Auth{Scheme: "digest", Credential: []byte("secret")}, "not user:password"},
		} {
			acl := tt.auth.ACL(coord.PermAll)
			_, err := coord.Dial(bg, []string{"server"}, &coord.Options{ACL: []coord.ACL{acl}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "cret") {
				t.Errorf("Dial: %v, want %s", err, tt.want)
			}
			if _, err := c.Create(bg, "/a", nil, coord.Persistent, acl); !errors.Is(err, coord.ErrInvalidACL) {
				t.Errorf("Create: %v", err)
			}
		}
	})
}

// A connect string is no server: the error says which function takes it apart.
func TestDialWithAConnectString(t *testing.T) {
	for _, server := range []string{"zk1:2181,zk2:2181", "zk1:2181/app"} {
		if _, err := coord.Dial(bg, []string{server}, nil); err == nil || !strings.Contains(err.Error(), "see ParseServers") {
			t.Errorf("Dial(%q): %v", server, err)
		}
	}
}

// A guard is printed with the path of its Hold, below the chroot as all others.
func TestGuardString(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client(w.line(), coord.Options{Chroot: "/app"})
		h := c.Kit().NewHold(bg, "hold", "/h", func(k *coord.Keeper) error { return errEnough })
		if got := h.Guard().String(); got != "check /h" {
			t.Errorf("got %q", got)
		}
	})
}

package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/lock"
)

// Do checks [lock.Mutex.Do].
func Do(t *testing.T, s Subject) { inBoth(t, s, dos) }

var errMine = errors.New("the work went wrong")

// free checks that c gets the lock without waiting.
func (w *World) free(c *Client) {
	w.Helper()
	h := w.Try(bg, c.Client, w.Dir)
	w.Grant(h)
	must(w, h.Release(bg))
}

// taken checks that c does not get the lock, and waits until no trace of the try
// is left.
func (w *World) taken(c *Client) {
	w.Helper()
	h := w.Try(bg, c.Client, w.Dir)
	wants(w, w.Settled(h), coord.ErrLocked)
	w.Wait("done", h.Done())
}

var dos = []scenario{
	{"Do has the lock during the work, and another gets it right after, however that ends (R7, R40)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		m := lock.New(a.Client, w.Dir)
		var last coord.Token
		for _, x := range []struct {
			name   string
			f      func() error
			err    error
			panics bool
		}{
			{"nil", func() error { return nil }, nil, false},
			{"an error", func() error { return errMine }, errMine, false},
			{"a panic", func() error { panic(errMine) }, nil, true},
		} {
			var err error
			calls := 0
			panicked := func() (p any) {
				defer func() { p = recover() }()
				err = m.Do(bg, func(ctx context.Context, token coord.Token) error {
					calls++
					must(w, ctx.Err())
					if token <= last {
						w.Errorf("token %d after %d", token, last)
					}
					last = token
					w.taken(b)
					return x.f()
				})
				return nil
			}()
			w.free(b)
			if calls != 1 {
				w.Errorf("%s: called %d times", x.name, calls)
			}
			switch {
			case x.panics && panicked != errMine:
				w.Errorf("%s: panic %v", x.name, panicked)
			case !x.panics && panicked != nil:
				w.Errorf("%s: panic %v", x.name, panicked)
			case x.err == nil:
				must(w, err)
			default:
				wants(w, err, x.err)
			}
		}
	}},
	{"Do's error has both the work's and the loss, and the work's ctx the loss (R6)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		err := lock.New(a.Client, w.Dir).Do(bg, func(ctx context.Context, _ coord.Token) error {
			w.Expire(a)
			w.Wait("end of the work's ctx", ctx.Done())
			wants(w, context.Cause(ctx), coord.ErrExpired)
			return errMine
		})
		wants(w, err, errMine)
		wants(w, err, coord.ErrExpired)
		w.Eventually("the old session's znode gone", func() bool { return len(w.Children()) == 0 })
		w.free(b)
	}},
	{"work that returned nil after a loss does not make Do return nil", func(w *World) {
		a := w.Client(T)
		err := lock.New(a.Client, w.Dir).Do(bg, func(ctx context.Context, _ coord.Token) error {
			must(w, w.Op().Delete(w.Dir+"/"+w.Children()[0], -1))
			w.Wait("end of the work's ctx", ctx.Done())
			return nil
		})
		wants(w, err, coord.ErrDeleted)
	}},
	{"a loss that comes before the work looks is not missed (R25)", func(w *World) {
		a := w.Client(T)
		err := lock.New(a.Client, w.Dir).Do(bg, func(ctx context.Context, _ coord.Token) error {
			over := a.Expired()
			w.Expire(a)
			w.Wait("expiry", over)
			time.Sleep(100 * time.Millisecond) // the work has looked at nothing yet
			wants(w, ctx.Err(), context.Canceled)
			wants(w, context.Cause(ctx), coord.ErrExpired)
			return ctx.Err()
		})
		wants(w, err, coord.ErrExpired)
	}},
	{"Do with a ctx that has ended does nothing, and says why (R61)", func(w *World) {
		a := w.Client(T)
		cause := errors.New("no longer needed")
		ctx, cancel := context.WithCancelCause(bg)
		cancel(cause)
		wants(w, lock.New(a.Client, w.Dir).Do(ctx, uncalled(w)), cause)
		if ok, _, err := w.Op().Exists(w.Dir); ok || err != nil {
			w.Errorf("directory exists: %v, %v", ok, err)
		}
	}},
	{"Do whose ctx ends while it waits leaves the queue, and does not do the work (R5, R61)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		h := w.Held(b)
		cause := errors.New("lost interest")
		ctx, cancel := context.WithCancelCause(bg)
		back := make(chan error, 1)
		go func() { back <- lock.New(a.Client, w.Dir).Do(ctx, uncalled(w)) }()
		w.Eventually("in the queue", func() bool { return len(w.Children()) == 2 })
		cancel(cause)
		wants(w, <-back, cause)
		w.Eventually("out of the queue", func() bool { return len(w.Children()) == 1 })
		must(w, h.Err())
		must(w, h.Release(bg))
	}},
	{"Do whose ctx ends during the work tells the work, and holds until that stops (R7)", func(w *World) {
		a, b := w.Client(T), w.Client(T)
		cause := errors.New("no longer needed")
		ctx, cancel := context.WithCancelCause(bg)
		wants(w, lock.New(a.Client, w.Dir).Do(ctx, func(work context.Context, _ coord.Token) error {
			cancel(cause)
			w.Wait("end of the work's ctx", work.Done())
			wants(w, context.Cause(work), cause)
			w.taken(b)
			return errMine
		}), errMine)
		h := w.Held(b)
		must(w, h.Release(bg))
	}},
}

func uncalled(w *World) func(context.Context, coord.Token) error {
	return func(context.Context, coord.Token) error {
		w.Error("the work was called")
		return nil
	}
}

// Permissions checks locks among znodes that are not open to everyone.
func Permissions(t *testing.T, s Subject) { inBoth(t, s, permissions) }

// guarded makes the lock's directory, which lets the world do only what perms
// say, and returns what deletes it.
func guarded(w *World, perms int32) (remove func()) {
	w.Helper()
	must(w, w.operator.Session().MakeDir(bg, w.Dir+"-above")) // what is above Dir
	must(w, w.Op().Delete(w.Dir+"-above", -1))
	_, err := w.Op().Create(w.Dir, nil, 0, zk.WorldACL(perms))
	must(w, err)
	return func() {
		w.Helper()
		must(w, w.Op().Delete(w.Dir, -1))
	}
}

var permissions = []scenario{
	{"a client's ACL guards its contenders and its directories, also below a chroot", func(w *World) {
		defer guarded(w, zk.PermAll)()
		acl := zk.DigestACL(zk.PermAll, "user", "secret")
		a := w.dialAs(&coord.Options{
			Auth:   []coord.Auth{{Scheme: "digest", Credential: []byte("user:secret")}},
			ACL:    acl,
			Chroot: w.Dir,
		})
		const dir = "/deep/lock"
		ha := w.Acquire(bg, a.Client, dir)
		w.Grant(ha)
		hb := w.Acquire(bg, a.Client, dir)
		full := a.FullPath(dir)
		if full != w.Dir+dir {
			w.Errorf("full path %s", full)
		}
		var names []string
		w.Eventually("two in the queue", func() bool {
			var err error
			names, _, err = a.Conn().Children(full)
			must(w, err)
			return len(names) == 2
		})
		for _, path := range []string{w.Dir + "/deep", full, full + "/" + names[0], full + "/" + names[1]} {
			got, _, err := a.Conn().GetACL(path)
			must(w, err)
			if len(got) != 1 || got[0] != acl[0] {
				w.Errorf("ACL of %s: %v, want %v", path, got, acl)
			}
		}
		if _, _, err := w.Op().Children(full); !errors.Is(err, zk.ErrNoAuth) {
			w.Errorf("the directory is open to others: %v", err)
		}
		must(w, ha.Release(bg))
		w.Grant(hb)
		must(w, hb.Release(bg))
		must(w, a.Conn().Delete(full, -1))
		must(w, a.Conn().Delete(w.Dir+"/deep", -1))
	}},
	{"a directory that may not be written to serves as well, if znodes may be created there", func(w *World) {
		defer guarded(w, zk.PermAll&^zk.PermWrite)()
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		w.taken(a)
		open(w, "acquired", hb.Acquired())
		must(w, ha.Release(bg))
		w.Grant(hb)
		if ha.Token() >= hb.Token() || ha.Token() == 0 {
			w.Errorf("tokens %d, %d", ha.Token(), hb.Token())
		}
		must(w, hb.Release(bg))
	}},
	{"a release that the ensemble refuses says so, ends as a release, and the znode goes with the session (R6)", func(w *World) {
		defer guarded(w, zk.PermAll&^zk.PermDelete)()
		a, b := w.Client(T), w.Client(T)
		ha := w.Held(a)
		hb := w.Queued(bg, b, 2)
		wants(w, ha.Release(bg), zk.ErrNoAuth)
		closed(w, "done", ha.Done())
		wants(w, ha.Err(), coord.ErrReleased)
		open(w, "lost", ha.Lost())
		open(w, "acquired", hb.Acquired())
		if n := len(w.Children()); n != 2 {
			w.Errorf("%d children", n)
		}
		must(w, a.Close())
		w.Grant(hb)
		must(w, b.Close())
		w.Eventually("nobody left", func() bool { return len(w.Children()) == 0 })
	}},
	{"Do's error has both the work's and a refused release (R6)", func(w *World) {
		defer guarded(w, zk.PermAll&^zk.PermDelete)()
		a := w.Client(T)
		err := lock.New(a.Client, w.Dir).Do(bg, func(context.Context, coord.Token) error { return errMine })
		wants(w, err, errMine)
		wants(w, err, zk.ErrNoAuth)
		if errors.Is(err, coord.ErrReleased) {
			w.Errorf("the release itself is in the error: %v", err)
		}
		must(w, a.Close())
		w.Eventually("nobody left", func() bool { return len(w.Children()) == 0 })
	}},
	{"a directory in which nothing may be created refuses contenders", func(w *World) {
		defer guarded(w, zk.PermAll&^zk.PermCreate)()
		a := w.Client(T)
		for _, h := range []*coord.Hold{w.Acquire(bg, a.Client, w.Dir), w.Try(bg, a.Client, w.Dir)} {
			wants(w, w.Settled(h), zk.ErrNoAuth)
			w.Wait("done", h.Done())
			must(w, h.Release(bg))
		}
		wants(w, lock.New(a.Client, w.Dir).Do(bg, uncalled(w)), zk.ErrNoAuth)
	}},
}

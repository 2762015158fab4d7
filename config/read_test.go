package config_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
)

// Read returns what is stored, or says like Watch what is wrong with that.
func TestRead(t *testing.T) {
	bubble(t, func(w *world) {
		u, err := config.New(w.c, "/n", numbers).Read(bg)
		w.WantsOp(err, "read", "/n", config.ErrMissing)
		if say(u) != "none missing" || u.Err != err {
			t.Errorf("got %s with %v", say(u), err)
		}
		w.Create("/n", "one")
		_, err = config.New(w.c, "/n", numbers).Read(bg)
		w.WantsOp(err, "read", "/n", nil, "decode")
		w.Set("/n", "panic")
		_, err = config.New(w.c, "/n", numbers).Read(bg)
		w.WantsOp(err, "read", "/n", nil, "decode")
		w.Set("/n", "3")
		u, err = config.New(w.c, "/n", numbers).Read(bg)
		w.Must(err)
		if _, stat, _ := w.op.Get("/n"); say(u) != "3 v2" || u.Mzxid != stat.Mzxid || !u.Read.Equal(time.Now()) {
			t.Errorf("got %+v", u)
		}
		_, err = config.New(w.c, "n", numbers).Read(bg)
		w.WantsOp(err, "read", "n", coord.ErrInvalidPath)
		_, err = config.New(w.c, "/n", config.Codec[int]{}).Read(bg)
		w.WantsOp(err, "read", "/n", nil)

		// It waits for a connection, across sessions, as long as ctx allows. (R61.)
		heal := w.link.Stall(3)
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(bg, time.Second, cause)
		defer cancel()
		began := time.Now()
		_, err = config.New(w.c, "/n", numbers).Read(ctx)
		w.WantsOp(err, "read", "/n", cause)
		if d := time.Since(began); d != time.Second {
			t.Errorf("after %v", d)
		}
		time.AfterFunc(2*T, heal)
		u, err = config.New(w.c, "/n", numbers).Read(bg)
		w.Must(err)
		if say(u) != "3 v2" {
			t.Errorf("got %+v", u)
		}
		w.Must(w.c.Close())
		_, err = config.New(w.c, "/n", numbers).Read(bg)
		w.WantsOp(err, "read", "/n", coord.ErrClosed)
	})
}

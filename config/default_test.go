package config_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/event"
)

// Each use has a copy of the default, so that what a program does to it reaches nobody
// else: not the next Modify, nor a stream, nor the codec of another Value.
func TestDefaultIsNotShared(t *testing.T) {
	bubble(t, func(w *world) {
		codec := config.JSON[map[string]int]()
		codec.Default = map[string]int{"good": 1}
		want := maps.Clone(codec.Default)
		n := config.New(w.c, "/n", codec)
		uses := map[string]func() map[string]int{
			"Modify": func() (old map[string]int) {
				refused := errors.New("no")
				_, err := n.Modify(bg, func(m map[string]int) (map[string]int, error) {
					old = m
					return m, refused
				})
				w.WantsOp(err, "modify", "/n", refused)
				return old
			},
			"Read": func() map[string]int {
				u, err := n.Read(bg)
				w.WantsOp(err, "read", "/n", config.ErrMissing)
				return u.Value
			},
			"Watch": func() map[string]int {
				ctx, stop := context.WithCancel(bg)
				defer stop()
				return first(n.Watch(ctx)).Value
			},
			"Watch of a tree": func() map[string]int {
				ctx, stop := context.WithCancel(bg)
				defer stop()
				return first(config.NewTree(w.c, "/tree", codec).Watch(ctx)).Keys["bad"].Value
			},
		}
		w.Create("/tree", "")
		w.Create("/tree/bad", "not a map")
		for range 2 {
			for name, use := range uses {
				got := use()
				if !maps.Equal(got, want) {
					w.Errorf("%s has the default %v, want %v", name, got, want)
				}
				got["evil"] = 666
			}
		}
		if !maps.Equal(codec.Default, want) {
			w.Errorf("the default became %v", codec.Default)
		}
	})
}

// first returns the first value of s.
func first[T any](s *event.Stream[T]) (v T) {
	for v = range s.All() {
		break
	}
	return v
}

// A default that must not be stored is refused by every method, unless it is the zero
// value, which stands for none.
func TestDefaultIsChecked(t *testing.T) {
	bubble(t, func(w *world) {
		odd := errors.New("odd")
		even := func(n int) error {
			if n%2 == 1 || n == 0 {
				return odd
			}
			return nil
		}
		w.Create("/n", "2")
		for _, codec := range []config.Codec[int]{numbers.Check(even), decoder(number).Check(even).Check(func(int) error { return nil })} {
			if u, err := config.New(w.c, "/n", codec).Read(bg); u.Value != 2 {
				w.Errorf("with the zero default: %v, %v", u, err)
			}
			codec.Default = 3
			n := config.New(w.c, "/n", codec)
			_, err := n.Read(bg)
			w.WantsOp(err, "read", "/n", odd, "Default")
			w.WantsOp(n.Watch(bg).Err(), "watch", "/n", odd, "Default")
			_, err = config.NewTree(w.c, "/", codec).Read(bg)
			w.WantsOp(err, "read", "/", odd, "Default")
		}
		codec := numbers.Check(even)
		codec.Default = 3
		_, err := config.New(w.c, "/n", codec).Store(bg, 4)
		w.WantsOp(err, "store", "/n", odd, "Default")
		if w.Get("/n") != "2" {
			w.Errorf("stored %s", w.Get("/n"))
		}
	})
}

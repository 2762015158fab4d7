package harness

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A Lie is told once, in its place, and all else is as it was.
func TestLieIsToldOnce(t *testing.T) {
	for _, tt := range []struct {
		lie  *Lie
		want string
	}{
		{&Lie{At: 1, Keep: 2, Data: []byte("xyz")}, "\x00\x00\x00\x03one\x00\x00\x00\x05twxyz\x00\x00\x00\x05three"},
		{&Lie{At: 0, Keep: 100, Data: []byte("!")}, "\x00\x00\x00\x04one!\x00\x00\x00\x03two\x00\x00\x00\x05three"},
		{&Lie{At: 1, Keep: -1, Data: []byte("xyz")}, "\x00\x00\x00\x03onexyz"},
		{&Lie{At: 3, Data: []byte("late")}, "\x00\x00\x00\x03one\x00\x00\x00\x03two\x00\x00\x00\x05three"},
	} {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			for _, body := range []string{"one", "two", "three"} {
				_, _ = far.Write(jute.Frame([]byte(body))) // the other end may be closed
			}
		}()
		conn := tt.lie.Wrap(near)
		got, err := io.ReadAll(conn)
		if string(got) != tt.want || err != nil || tt.lie.Told() != (tt.lie.At < 3) {
			t.Errorf("lie %d, %d, %q: heard %q, %v; told: %v", tt.lie.At, tt.lie.Keep, tt.lie.Data, got, err, tt.lie.Told())
		}
		near.Close()
	}
}

// A noted is a test whose errors are counted.
type noted struct {
	testing.TB
	errors int
}

func (n *noted) Helper()               {}
func (n *noted) Errorf(string, ...any) { n.errors++ }

func TestPrintable(t *testing.T) {
	for text, want := range map[string]int{
		"coord: held by é 日本": 0, "a\x1b[2J": 1, "two\nlines": 1, "\xff": 1, "\u202egnp.exe": 1, fmt.Sprintf("%q", "\x1b\xff\u202e"): 0,
	} {
		var n noted
		if Printable(&n, errors.New(text)); n.errors != want {
			t.Errorf("%q: %d errors", text, n.errors)
		}
	}
	Printable(t, nil)
}

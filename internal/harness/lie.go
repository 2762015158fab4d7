package harness

import (
	"io"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A Lie is what a hostile server says once, in the place of an honest one: all that is
// heard before and behind it is true.
type Lie struct {
	At int // the frame from the server that is not what it was, from 0, over all connections
	// Keep is how many bytes of the frame's body stay as they were; Data takes the place
	// of the rest. If it is negative, Data takes the place of the frame, with its length,
	// and the connection ends with it: else what follows would be of a frame that may
	// never end.
	Keep int
	Data []byte

	frames atomic.Int64
}

// Wrap returns a client's end of a connection that tells the lie when its time comes.
func (l *Lie) Wrap(conn net.Conn) net.Conn { return &liar{Conn: conn, lie: l} }

type liar struct {
	net.Conn
	lie  *Lie
	rest []byte // of a frame of which not all has been read
	last bool   // nothing comes behind that
}

// Read implements [net.Conn].
func (c *liar) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		if c.last {
			c.Conn.Close()
			return 0, io.EOF
		}
		body, err := jute.ReadFrame(c.Conn, math.MaxInt32)
		if err != nil {
			return 0, err
		}
		if c.rest = jute.Frame(body); c.lie.frames.Add(1)-1 == int64(c.lie.At) {
			c.rest, c.last = c.lie.tell(body), c.lie.Keep < 0
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// tell returns what is said instead of a frame with this body.
func (l *Lie) tell(body []byte) []byte {
	if l.Keep < 0 {
		return l.Data
	}
	return jute.Frame(append(body[:min(l.Keep, len(body)):min(l.Keep, len(body))], l.Data...))
}

// Told reports whether the lie has been told.
func (l *Lie) Told() bool { return l.frames.Load() > int64(l.At) }

// Printable checks that the text of err can be shown to anybody: it has no byte of a server
// or of another client that could mean something to a terminal or to a log.
func Printable(tb testing.TB, err error) {
	tb.Helper()
	if err == nil {
		return
	}
	text := err.Error()
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, odd) {
		tb.Errorf("the text of an error is %q", text)
	}
}

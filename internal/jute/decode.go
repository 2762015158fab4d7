package jute

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-zookeeper/zk"
)

// ErrMalformed is the error of a frame whose length cannot be true.
var ErrMalformed = errors.New("jute: malformed frame")

// ReadFrame reads one frame and returns its body, which has at most limit bytes. The error is
// io.EOF if there is none, and io.ErrUnexpectedEOF if it is cut short.
// It allocates no more than a little before the bytes arrive, whatever the length claims.
func ReadFrame(r io.Reader, limit int32) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(head[:]))
	if n < 0 || n > limit {
		return nil, fmt.Errorf("%w: %d bytes", ErrMalformed, n)
	}
	const little = 4 << 10
	if n <= little {
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, cutShort(err)
		}
		return body, nil
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(n)); err != nil {
		return nil, cutShort(err)
	}
	return body.Bytes(), nil
}

// cutShort returns err as the error of a frame that had begun.
func cutShort(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A Decoder takes fields off the front of a body, or of what is left of it. After
// the first field that is not there it yields zeros only.
type Decoder struct {
	b   []byte
	bad bool
}

// NewDecoder returns a Decoder of body. What it yields may share memory with body.
func NewDecoder(body []byte) *Decoder { return &Decoder{b: body} }

// Bad reports whether a field was missing or made no sense.
func (d *Decoder) Bad() bool { return d.bad }

// Fail makes d bad: for callers who find that a field makes no sense.
func (d *Decoder) Fail() { d.bad, d.b = true, nil }

// Rest takes all that is left.
func (d *Decoder) Rest() []byte { return d.take(len(d.b)) }

func (d *Decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.Fail()
		return nil
	}
	field := d.b[:n:n]
	d.b = d.b[n:]
	return field
}

// Bool takes one byte.
func (d *Decoder) Bool() bool {
	b := d.take(1)
	return !d.bad && b[0] != 0
}

// Int32 takes four bytes.
func (d *Decoder) Int32() int32 {
	b := d.take(4)
	if d.bad {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

// Int64 takes eight bytes.
func (d *Decoder) Int64() int64 {
	b := d.take(8)
	if d.bad {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// Bytes returns nil for the null buffer, which differs from an empty one.
func (d *Decoder) Bytes() []byte {
	n := d.Int32()
	if n == -1 {
		return nil
	}
	return d.take(int(n))
}

// String replaces what is not UTF-8, as Java does. It refuses the null string, on
// which real servers fail.
func (d *Decoder) String() string {
	return strings.ToValidUTF8(string(d.take(int(d.Int32()))), "\ufffd")
}

// Strings returns nil for a list that is null or empty. The strings of a long list
// share memory in pieces of about a kilobyte: that saves most allocations, and to keep
// one of them does not keep them all.
func (d *Decoder) Strings() []string {
	n := int(d.Int32())
	if n <= 0 || d.bad {
		return nil
	}
	list := make([]string, 0, min(n, len(d.b)/4)) // the length may lie, and each takes four bytes at least
	for len(list) < n && !d.bad {
		list = d.piece(list, n)
	}
	return list
}

// piece appends to list the next strings of one that has n: one, or those in the next
// kilobyte.
func (d *Decoder) piece(list []string, n int) []string {
	const size = 1 << 10
	end, left := 0, n-len(list)
	for left > 0 && end+4 <= len(d.b) {
		l := int(int32(binary.BigEndian.Uint32(d.b[end:])))
		if l < 0 || l > len(d.b)-end-4 || end > 0 && end+4+l > size {
			break
		}
		end, left = end+4+l, left-1
	}
	if end == 0 {
		d.Fail()
		return list
	}
	raw := d.take(end)
	shared := string(raw)
	for at := 0; at < end; {
		from := at + 4
		at = from + int(binary.BigEndian.Uint32(raw[at:]))
		list = append(list, strings.ToValidUTF8(shared[from:at], "\ufffd"))
	}
	return list
}

// ACLs returns nil for a list that is null or empty.
func (d *Decoder) ACLs() []zk.ACL {
	var list []zk.ACL
	for n := d.Int32(); n > 0 && !d.bad; n-- {
		list = append(list, zk.ACL{Perms: d.Int32(), Scheme: d.String(), ID: d.String()})
	}
	return list
}

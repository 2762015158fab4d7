package jute

import (
	"encoding/binary"

	"github.com/go-zookeeper/zk"
)

// An Encoder builds one frame, field by field.
type Encoder struct{ b []byte }

// NewFrame returns an Encoder of a frame without a body.
func NewFrame() *Encoder { return &Encoder{make([]byte, 4, 128)} }

// NewRequest returns an Encoder of a frame that begins with the header of a request.
func NewRequest(xid int32, op Op) *Encoder {
	e := NewFrame()
	e.Int32(xid)
	e.Int32(int32(op))
	return e
}

// NewReply returns an Encoder of a frame that begins with the header of a reply, or
// of an event.
func NewReply(xid int32, zxid int64, code Code) *Encoder {
	e := NewFrame()
	e.b = ReplyHeader{xid, zxid, code}.appendTo(e.b)
	return e
}

// Frame returns the frame with this body.
func Frame(body []byte) []byte {
	e := NewFrame()
	e.Raw(body)
	return e.Frame()
}

// Frame returns the frame, its length filled in.
func (e *Encoder) Frame() []byte {
	binary.BigEndian.PutUint32(e.b, uint32(len(e.b)-4))
	return e.b
}

// Body returns the frame without its length.
func (e *Encoder) Body() []byte { return e.b[4:] }

// Raw appends b as it is.
func (e *Encoder) Raw(b []byte) { e.b = append(e.b, b...) }

// Int32 appends four bytes.
func (e *Encoder) Int32(v int32) { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }

// Int64 appends eight bytes.
func (e *Encoder) Int64(v int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }

// Bool appends one byte.
func (e *Encoder) Bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

// String appends s with its length.
func (e *Encoder) String(s string) {
	e.Int32(int32(len(s)))
	e.b = append(e.b, s...)
}

// Bytes appends b with its length, or the null buffer if b is nil.
func (e *Encoder) Bytes(b []byte) {
	if b == nil {
		e.Int32(-1)
		return
	}
	e.Int32(int32(len(b)))
	e.Raw(b)
}

// Strings appends list with its length.
func (e *Encoder) Strings(list []string) {
	e.Int32(int32(len(list)))
	for _, s := range list {
		e.String(s)
	}
}

// ACLs appends list with its length.
func (e *Encoder) ACLs(list []zk.ACL) {
	e.Int32(int32(len(list)))
	for _, a := range list {
		e.Int32(a.Perms)
		e.String(a.Scheme)
		e.String(a.ID)
	}
}

// Stat appends the metadata of a znode.
func (e *Encoder) Stat(s zk.Stat) {
	e.Int64(s.Czxid)
	e.Int64(s.Mzxid)
	e.Int64(s.Ctime)
	e.Int64(s.Mtime)
	e.Int32(s.Version)
	e.Int32(s.Cversion)
	e.Int32(s.Aversion)
	e.Int64(s.EphemeralOwner)
	e.Int32(s.DataLength)
	e.Int32(s.NumChildren)
	e.Int64(s.Pzxid)
}

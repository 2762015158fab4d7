package jute

import (
	"encoding/binary"
	"time"
)

// A RequestHeader begins each request but the first.
type RequestHeader struct {
	Xid int32 // by which the answer refers to the request
	Op  Op
}

// RequestHeader takes the header of a request.
func (d *Decoder) RequestHeader() RequestHeader { return RequestHeader{d.Int32(), Op(d.Int32())} }

// A ReplyHeader begins each frame from the server but the first.
type ReplyHeader struct {
	Xid  int32 // of the request, or XidEvent
	Zxid int64 // the newest transaction that the server had carried out
	Code Code
}

// ReplyHeader takes the header of a reply or an event.
func (d *Decoder) ReplyHeader() ReplyHeader {
	return ReplyHeader{d.Int32(), d.Int64(), Code(d.Int32())}
}

func (h ReplyHeader) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.Xid))
	b = binary.BigEndian.AppendUint64(b, uint64(h.Zxid))
	return binary.BigEndian.AppendUint32(b, uint32(h.Code))
}

// Put overwrites the header with which body begins.
func (h ReplyHeader) Put(body []byte) { h.appendTo(body[:0]) }

// A ConnectRequest is the first frame from the client: it opens a session, or
// resumes one.
type ConnectRequest struct {
	Version  int32 // of the protocol; 0
	Zxid     int64 // the newest that the client has seen
	Timeout  time.Duration
	Session  int64 // 0 to open one
	Password []byte
	Rest     []byte // newer clients say here whether a read-only server would do
}

// ConnectRequest takes all that is left.
func (d *Decoder) ConnectRequest() ConnectRequest {
	return ConnectRequest{
		Version:  d.Int32(),
		Zxid:     d.Int64(),
		Timeout:  time.Duration(d.Int32()) * time.Millisecond,
		Session:  d.Int64(),
		Password: d.Bytes(),
		Rest:     d.Rest(),
	}
}

// ConnectRequest appends r.
func (e *Encoder) ConnectRequest(r ConnectRequest) {
	e.Int32(r.Version)
	e.Int64(r.Zxid)
	e.Int32(int32(r.Timeout / time.Millisecond))
	e.Int64(r.Session)
	e.Bytes(r.Password)
	e.Raw(r.Rest)
}

// A ConnectResponse is the first frame from the server.
type ConnectResponse struct {
	Version  int32 // of the protocol; 0
	Timeout  time.Duration
	Session  int64 // 0 if the one to be resumed is over
	Password []byte
	Rest     []byte // to newer clients servers say here whether they are read-only
}

// ConnectResponse takes all that is left.
func (d *Decoder) ConnectResponse() ConnectResponse {
	return ConnectResponse{
		Version:  d.Int32(),
		Timeout:  time.Duration(d.Int32()) * time.Millisecond,
		Session:  d.Int64(),
		Password: d.Bytes(),
		Rest:     d.Rest(),
	}
}

// ConnectResponse appends r.
func (e *Encoder) ConnectResponse(r ConnectResponse) {
	e.Int32(r.Version)
	e.Int32(int32(r.Timeout / time.Millisecond))
	e.Int64(r.Session)
	e.Bytes(r.Password)
	e.Raw(r.Rest)
}

// SetWatches are the fields of a request that arms the watches of an earlier
// connection again.
type SetWatches struct {
	Zxid               int64 // the newest that the client had seen
	Data, Exist, Child []string
}

// SetWatches takes the fields behind the header.
func (d *Decoder) SetWatches() SetWatches {
	return SetWatches{d.Int64(), d.Strings(), d.Strings(), d.Strings()}
}

// SetWatches appends w.
func (e *Encoder) SetWatches(w SetWatches) {
	e.Int64(w.Zxid)
	e.Strings(w.Data)
	e.Strings(w.Exist)
	e.Strings(w.Child)
}

// Auth are the fields of a request that presents a credential.
type Auth struct {
	Type       int32 // unused
	Scheme     string
	Credential []byte
}

// Auth takes the fields behind the header.
func (d *Decoder) Auth() Auth { return Auth{d.Int32(), d.String(), d.Bytes()} }

// Auth appends a.
func (e *Encoder) Auth(a Auth) {
	e.Int32(a.Type)
	e.String(a.Scheme)
	e.Bytes(a.Credential)
}

// A MultiHeader stands before each op of a multi, and before each of the results;
// one that is Done ends them.
type MultiHeader struct {
	Op   Op // of a result, OpError if the multi was refused
	Done bool
	Code Code // of a result; else -1
}

// MultiHeader takes the header of one op or result.
func (d *Decoder) MultiHeader() MultiHeader {
	return MultiHeader{Op(d.Int32()), d.Bool(), Code(d.Int32())}
}

// MultiHeader appends h.
func (e *Encoder) MultiHeader(h MultiHeader) {
	e.Int32(int32(h.Op))
	e.Bool(h.Done)
	e.Int32(int32(h.Code))
}

// An Event is what follows the header of a frame that answers nothing.
type Event struct {
	Type, State int32 // as zk.EventType and zk.State
	Path        string
}

// Event takes the fields behind the header.
func (d *Decoder) Event() Event { return Event{d.Int32(), d.Int32(), d.String()} }

// Event appends v.
func (e *Encoder) Event(v Event) {
	e.Int32(v.Type)
	e.Int32(v.State)
	e.String(v.Path)
}

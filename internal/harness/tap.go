package harness

import (
	"bytes"
	"math"
	"net"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A Tap is a client's end of a connection whose frames a test can see and change: the
// two of the handshake, and the bodies of all that come behind it. A hook that returns
// nil loses the frame. Hooks that are nil change nothing.
type Tap struct {
	net.Conn
	Connect func(*jute.ConnectRequest)
	Welcome func(*jute.ConnectResponse)
	Request func(body []byte) []byte
	Reply   func(body []byte) []byte // to replies and events

	asked, answered bool   // past the first frame of each direction
	begun           []byte // a frame of which not all has been written
	rest            []byte // of a frame of which not all has been read
}

// Write implements [net.Conn]. A long frame may come in pieces, and several short ones
// at once.
func (t *Tap) Write(b []byte) (int, error) {
	if t.Request == nil && (t.Connect == nil || t.asked) {
		return t.Conn.Write(b)
	}
	t.begun = append(t.begun, b...)
	for {
		rest := bytes.NewReader(t.begun)
		body, err := jute.ReadFrame(rest, math.MaxInt32)
		if err != nil {
			return len(b), nil
		}
		t.begun = t.begun[len(t.begun)-rest.Len():]
		if body = t.written(body); body == nil {
			continue
		}
		if _, err := t.Conn.Write(jute.Frame(body)); err != nil {
			return 0, err
		}
	}
}

// written returns the body of a frame as the server is to see it, nil for none.
func (t *Tap) written(body []byte) []byte {
	switch {
	case t.asked && t.Request != nil:
		return t.Request(body)
	case !t.asked && t.Connect != nil:
		r := jute.NewDecoder(body).ConnectRequest()
		t.Connect(&r)
		e := jute.NewFrame()
		e.ConnectRequest(r)
		body = e.Body()
	}
	t.asked = true
	return body
}

// Read implements [net.Conn].
func (t *Tap) Read(b []byte) (int, error) {
	if len(t.rest) == 0 && t.Reply == nil && (t.Welcome == nil || t.answered) {
		return t.Conn.Read(b)
	}
	for len(t.rest) == 0 {
		body, err := jute.ReadFrame(t.Conn, math.MaxInt32)
		if err != nil {
			return 0, err
		}
		switch {
		case t.answered:
			body = t.Reply(body)
		case t.Welcome != nil:
			r := jute.NewDecoder(body).ConnectResponse()
			t.Welcome(&r)
			e := jute.NewFrame()
			e.ConnectResponse(r)
			body = e.Body()
		}
		t.answered = true
		if body != nil {
			t.rest = jute.Frame(body)
		}
	}
	n := copy(b, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// Refuse returns the answer to the request that body answers, with another code.
func Refuse(body []byte, code jute.Code) []byte {
	h := jute.NewDecoder(body).ReplyHeader()
	return jute.NewReply(h.Xid, h.Zxid, code).Body()
}

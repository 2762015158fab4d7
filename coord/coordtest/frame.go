package coordtest

import (
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// A Frame describes a message on a Link.
type Frame struct {
	Dir Direction
	// Op is "connect", "create", "getData", "multi", "ping", "close" and so on; for
	// a reply, what it answers; for an event, "event". A multi that only checks one
	// znode is "check".
	Op      string
	Path    string          // of the request, of the one answered, or of the event; of a multi's first op; "" if there is none
	Session coord.SessionID // 0 until known
	N       int             // its number among those of its direction on this Link, from 1; pings are not counted and have 0
}

// A script follows the conversation on one connection, to tell what its frames are.
type script struct {
	session int64
	begun   [2]bool           // by index of direction: past the first frame
	due     map[int32][]Frame // requests that are to be answered, by xid
}

// describe tells what the next frame of direction d is. Its N is left for the caller.
func (s *script) describe(d Direction, frame []byte) Frame {
	dec := jute.NewDecoder(frame)
	f := Frame{Dir: d}
	switch first := !s.begun[index(d)]; {
	case first:
		s.begun[index(d)] = true
		f.Op = "connect"
		s.handshake(d, dec)
	case d == ToServer:
		f.Op, f.Path = describeRequest(dec)
	default:
		f.Op, f.Path = s.answer(dec)
	}
	f.Session = coord.SessionID(s.session)
	return f
}

// handshake learns the session from the first frame of a direction.
func (s *script) handshake(d Direction, dec *jute.Decoder) {
	id := int64(0)
	if d == ToServer {
		id = dec.ConnectRequest().Session
	} else {
		id = dec.ConnectResponse().Session
	}
	if id != 0 {
		s.session = id
	}
}

// describeRequest returns the name and the path of a request.
func describeRequest(d *jute.Decoder) (op, path string) {
	o := d.RequestHeader().Op
	switch o {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL, jute.OpDelete, jute.OpDeleteContainer, jute.OpCheck,
		jute.OpExists, jute.OpGetData, jute.OpSetData, jute.OpGetACL, jute.OpSetACL, jute.OpGetChildren, jute.OpGetChildren2, jute.OpSync,
		jute.OpCheckWatches, jute.OpRemoveWatches, jute.OpGetEphemerals, jute.OpCountChildren, jute.OpAddWatch:
		path = d.String()
	case jute.OpMulti, jute.OpMultiRead:
		first := d.MultiHeader()
		if !first.Done {
			path = d.String()
		}
		if first.Op == jute.OpCheck {
			d.Int32() // version
			if alone := d.MultiHeader().Done; alone {
				return jute.OpCheck.String(), path
			}
		}
	}
	return o.String(), path
}

// answer returns what a frame from the server is about.
func (s *script) answer(d *jute.Decoder) (op, path string) {
	xid := d.ReplyHeader().Xid
	switch xid {
	case jute.XidEvent:
		return "event", d.Event().Path
	case jute.XidPing:
		return "ping", ""
	}
	due := s.due[xid]
	if len(due) == 0 {
		return "unknown", ""
	}
	if len(due) == 1 {
		delete(s.due, xid)
	} else {
		s.due[xid] = due[1:]
	}
	return due[0].Op, due[0].Path
}

// expect notes that the server will answer a request.
func (s *script) expect(f Frame, frame []byte) {
	if f.Op == "connect" || f.Op == "ping" {
		return
	}
	if s.due == nil {
		s.due = make(map[int32][]Frame)
	}
	xid := jute.NewDecoder(frame).RequestHeader().Xid
	s.due[xid] = append(s.due[xid], f)
}

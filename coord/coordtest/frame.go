package coordtest

// A Frame describes a message on a Link.
type Frame struct {
	Dir Direction
	// Op is "connect", "create", "getData", "multi", "ping", "close" and so on; for
	// a reply, what it answers; for an event, "event". A multi that only checks one
	// znode is "check".
	Op      string
	Path    string // of the request, of the one answered, or of the event; of a multi's first op; "" if there is none
	Session int64  // 0 until known
	N       int    // its number among those of its direction on this Link, from 1; pings are not counted and have 0
}

// A script follows the conversation on one connection, to tell what its frames are.
type script struct {
	session int64
	begun   [2]bool           // by index of direction: past the first frame
	due     map[int32][]Frame // requests that are to be answered, by xid
}

// describe tells what the next frame of direction d is. Its N is left for the caller.
func (s *script) describe(d Direction, frame []byte) Frame {
	dec := &decoder{b: frame}
	f := Frame{Dir: d}
	switch first := !s.begun[index(d)]; {
	case first:
		s.begun[index(d)] = true
		f.Op = "connect"
		s.greet(d, dec)
	case d == ToServer:
		dec.int32()
		f.Op, f.Path = request(dec)
	default:
		f.Op, f.Path = s.answer(dec)
	}
	f.Session = s.session
	return f
}

// greet learns the session from the first frame of a direction.
func (s *script) greet(d Direction, dec *decoder) {
	id := int64(0)
	if d == ToServer {
		id = decodeGreeting(dec).session
	} else {
		dec.int32()
		dec.int32()
		id = dec.int64()
	}
	if id != 0 {
		s.session = id
	}
}

// request returns the name and the path of what follows the xid of a request.
func request(d *decoder) (op, path string) {
	o := opcode(d.int32())
	switch o {
	case opCreate, opCreate2, opCreateContainer, opCreateTTL, opDelete, opDeleteContainer, opCheck,
		opExists, opGetData, opSetData, opGetACL, opSetACL, opGetChildren, opGetChildren2, opSync,
		opCheckWatches, opRemoveWatches, opGetEphemerals, opCountChildren, opAddWatch:
		path = d.string()
	case opMulti, opMultiRead:
		first := opcode(d.int32())
		if done := d.bool(); !done {
			d.int32()
			path = d.string()
		}
		if first == opCheck {
			d.int32() // version
			d.int32()
			if alone := d.bool(); alone {
				return opCheck.String(), path
			}
		}
	}
	return o.String(), path
}

// answer returns what a frame from the server is about.
func (s *script) answer(d *decoder) (op, path string) {
	xid := d.int32()
	if xid == xidEvent {
		d.int64() // zxid
		d.int32() // error
		d.int32() // type
		d.int32() // state
		return "event", d.string()
	}
	if xid == xidPing {
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
	xid := (&decoder{b: frame}).int32()
	s.due[xid] = append(s.due[xid], f)
}

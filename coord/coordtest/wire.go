package coordtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-zookeeper/zk"
)

// An opcode says what a request asks for.
type opcode int32

const (
	opCreate          opcode = 1
	opDelete          opcode = 2
	opExists          opcode = 3
	opGetData         opcode = 4
	opSetData         opcode = 5
	opGetACL          opcode = 6
	opSetACL          opcode = 7
	opGetChildren     opcode = 8
	opSync            opcode = 9
	opPing            opcode = 11
	opGetChildren2    opcode = 12
	opCheck           opcode = 13
	opMulti           opcode = 14
	opCreate2         opcode = 15
	opReconfig        opcode = 16
	opCheckWatches    opcode = 17
	opRemoveWatches   opcode = 18
	opCreateContainer opcode = 19
	opDeleteContainer opcode = 20
	opCreateTTL       opcode = 21
	opMultiRead       opcode = 22
	opAuth            opcode = 100
	opSetWatches      opcode = 101
	opSASL            opcode = 102
	opGetEphemerals   opcode = 103
	opCountChildren   opcode = 104
	opSetWatches2     opcode = 105
	opAddWatch        opcode = 106
	opWhoAmI          opcode = 107
	opError           opcode = -1
	opClose           opcode = -11
)

var opNames = map[opcode]string{
	opCreate: "create", opDelete: "delete", opExists: "exists", opGetData: "getData", opSetData: "setData",
	opGetACL: "getACL", opSetACL: "setACL", opGetChildren: "getChildren", opSync: "sync", opPing: "ping",
	opGetChildren2: "getChildren2", opCheck: "check", opMulti: "multi", opCreate2: "create2", opReconfig: "reconfig",
	opCheckWatches: "checkWatches", opRemoveWatches: "removeWatches", opCreateContainer: "createContainer",
	opDeleteContainer: "deleteContainer", opCreateTTL: "createTTL", opMultiRead: "multiRead", opAuth: "auth",
	opSetWatches: "setWatches", opSASL: "sasl", opGetEphemerals: "getEphemerals", opCountChildren: "getAllChildrenNumber",
	opSetWatches2: "setWatches2", opAddWatch: "addWatch", opWhoAmI: "whoAmI", opClose: "close",
}

func (o opcode) String() string {
	if name, ok := opNames[o]; ok {
		return name
	}
	return fmt.Sprintf("op%d", int32(o))
}

// A code is the outcome of a request as it stands in the reply.
type code int32

const (
	ok               code = 0
	errInconsistency code = -2
	errMarshalling   code = -5
	errUnimplemented code = -6
	errBadArguments  code = -8
	errNoNode        code = -101
	errNoAuth        code = -102
	errBadVersion    code = -103
	errNoChildren    code = -108 // for ephemerals
	errNodeExists    code = -110
	errNotEmpty      code = -111
	errInvalidACL    code = -114
	errAuthFailed    code = -115
)

const (
	xidEvent int32 = -1
	xidPing  int32 = -2
)

var errMalformed = errors.New("coordtest: malformed frame")

// readFrame reads one frame of at most limit bytes and returns it without its
// length. It allocates as bytes arrive, not what the length claims.
func readFrame(r io.Reader, limit int32) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(head[:]))
	if n < 0 || n > limit {
		return nil, fmt.Errorf("%w: %d bytes", errMalformed, n)
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(n)); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// A decoder takes fields off the front of b. After the first field that is not
// there it yields zeros only, and bad is set.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	field := d.b[:n:n]
	d.b = d.b[n:]
	return field
}

func (d *decoder) bool() bool {
	b := d.take(1)
	return !d.bad && b[0] != 0
}

func (d *decoder) int32() int32 {
	b := d.take(4)
	if d.bad {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

func (d *decoder) int64() int64 {
	b := d.take(8)
	if d.bad {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// bytes returns nil for the null buffer, which differs from an empty one.
func (d *decoder) bytes() []byte {
	n := d.int32()
	if n == -1 {
		return nil
	}
	return d.take(int(n))
}

// string refuses the null string, on which the real server trips.
func (d *decoder) string() string {
	return strings.ToValidUTF8(string(d.take(int(d.int32()))), "\ufffd")
}

func (d *decoder) strings() []string {
	var list []string
	for n := d.int32(); n > 0 && !d.bad; n-- {
		list = append(list, d.string())
	}
	return list
}

func (d *decoder) acls() []zk.ACL {
	var list []zk.ACL
	for n := d.int32(); n > 0 && !d.bad; n-- {
		list = append(list, zk.ACL{Perms: d.int32(), Scheme: d.string(), ID: d.string()})
	}
	return list
}

// An encoder builds one frame, beginning with room for its length.
type encoder struct{ b []byte }

func newFrame() *encoder { return &encoder{make([]byte, 4, 128)} }

func newReply(xid int32, zxid int64, c code) *encoder {
	e := newFrame()
	e.int32(xid)
	e.int64(zxid)
	e.int32(int32(c))
	return e
}

// frame returns the frame, its length filled in.
func (e *encoder) frame() []byte {
	binary.BigEndian.PutUint32(e.b, uint32(len(e.b)-4))
	return e.b
}

func (e *encoder) int32(v int32) { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }
func (e *encoder) int64(v int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

func (e *encoder) string(s string) {
	e.int32(int32(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) bytes(b []byte) {
	if b == nil {
		e.int32(-1)
		return
	}
	e.int32(int32(len(b)))
	e.b = append(e.b, b...)
}

func (e *encoder) strings(list []string) {
	e.int32(int32(len(list)))
	for _, s := range list {
		e.string(s)
	}
}

func (e *encoder) acls(list []zk.ACL) {
	e.int32(int32(len(list)))
	for _, a := range list {
		e.int32(a.Perms)
		e.string(a.Scheme)
		e.string(a.ID)
	}
}

func (e *encoder) stat(s zk.Stat) {
	e.int64(s.Czxid)
	e.int64(s.Mzxid)
	e.int64(s.Ctime)
	e.int64(s.Mtime)
	e.int32(s.Version)
	e.int32(s.Cversion)
	e.int32(s.Aversion)
	e.int64(s.EphemeralOwner)
	e.int32(s.DataLength)
	e.int32(s.NumChildren)
	e.int64(s.Pzxid)
}

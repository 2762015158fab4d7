package coord

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// The functions below return frames, whole but for the xid, which is filled in when they
// are written.

func readFrame(op jute.Op, full string, watch bool) []byte {
	e := jute.NewRequest(0, op)
	e.Read(jute.Read{Path: full, Watch: watch})
	return e.Frame()
}

func syncFrame(full string) []byte {
	e := jute.NewRequest(0, jute.OpSync)
	e.String(full)
	return e.Frame()
}

func setWatchesFrame(w jute.SetWatches) []byte {
	e := jute.NewRequest(0, jute.OpSetWatches)
	e.SetWatches(w)
	return e.Frame()
}

// setTreesFrame returns the request that arms again what addWatchFrame has armed on an
// earlier connection.
func setTreesFrame(trees []string) []byte {
	e := jute.NewRequest(0, jute.OpSetWatches2)
	e.SetWatches(jute.SetWatches{})
	e.Strings(nil)
	e.Strings(trees)
	return e.Frame()
}

// addWatchFrame returns the request to be told of all that happens at and below a path.
func addWatchFrame(full string) []byte {
	e := jute.NewRequest(0, jute.OpAddWatch)
	e.String(full)
	e.Int32(1) // persistent and recursive
	return e.Frame()
}

// removeWatchesFrame returns the request to disarm all watches on a path.
func removeWatchesFrame(full string) []byte {
	e := jute.NewRequest(0, jute.OpRemoveWatches)
	e.String(full)
	e.Int32(3) // of any kind
	return e.Frame()
}

func pingFrame() []byte { return jute.NewRequest(jute.XidPing, jute.OpPing).Frame() }

// frameOf returns the frame of a request that is made by itself.
func frameOf(request any) []byte {
	e := jute.NewRequest(0, opOf(request))
	encode(e, request)
	return e.Frame()
}

// multiFrame returns the frame of a transaction.
func multiFrame(requests ...any) []byte {
	e := jute.NewRequest(0, jute.OpMulti)
	for _, r := range requests {
		e.MultiHeader(jute.MultiHeader{Op: opOf(r), Code: -1})
		encode(e, r)
	}
	e.MultiHeader(jute.MultiHeader{Op: jute.OpError, Done: true, Code: -1})
	return e.Frame()
}

func opOf(request any) jute.Op {
	switch r := request.(type) {
	case *zk.CreateTTLRequest:
		if r.Ttl != 0 {
			return jute.OpCreateTTL
		}
		return jute.OpCreateContainer
	case *zk.CreateRequest:
		return jute.OpCreate
	case *zk.SetDataRequest:
		return jute.OpSetData
	case *zk.DeleteRequest:
		return jute.OpDelete
	case *zk.CheckVersionRequest:
		return jute.OpCheck
	}
	panic(fmt.Sprintf("coord: a request of type %T", request))
}

func encode(e *jute.Encoder, request any) {
	switch r := request.(type) {
	case *zk.CreateTTLRequest:
		e.Create(jute.Create{Path: r.Path, Data: r.Data, ACL: r.Acl, Flags: r.Flags})
		if r.Ttl != 0 {
			e.Int64(r.Ttl)
		}
	case *zk.CreateRequest:
		e.Create(jute.Create{Path: r.Path, Data: r.Data, ACL: r.Acl, Flags: r.Flags})
	case *zk.SetDataRequest:
		e.SetData(jute.SetData{Path: r.Path, Data: r.Data, Version: r.Version})
	case *zk.DeleteRequest:
		e.Versioned(jute.Versioned{Path: r.Path, Version: r.Version})
	case *zk.CheckVersionRequest:
		e.Versioned(jute.Versioned{Path: r.Path, Version: r.Version})
	}
}

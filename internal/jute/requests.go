package jute

import "github.com/go-zookeeper/zk"

// A Create are the fields of a request that creates a znode, and of such an op of a
// multi.
type Create struct {
	Path  string
	Data  []byte
	ACL   []zk.ACL
	Flags int32
}

// Create appends c.
func (e *Encoder) Create(c Create) {
	e.String(c.Path)
	e.Bytes(c.Data)
	e.ACLs(c.ACL)
	e.Int32(c.Flags)
}

// Create takes the fields behind the header.
func (d *Decoder) Create() Create { return Create{d.String(), d.Bytes(), d.ACLs(), d.Int32()} }

// A SetData are the fields of a request that sets the data of a znode, and of such an
// op of a multi.
type SetData struct {
	Path    string
	Data    []byte
	Version int32
}

// SetData appends s.
func (e *Encoder) SetData(s SetData) {
	e.String(s.Path)
	e.Bytes(s.Data)
	e.Int32(s.Version)
}

// SetData takes the fields behind the header.
func (d *Decoder) SetData() SetData { return SetData{d.String(), d.Bytes(), d.Int32()} }

// A Versioned are the fields of a request that deletes or checks a znode, and of such
// an op of a multi.
type Versioned struct {
	Path    string
	Version int32
}

// Versioned appends v.
func (e *Encoder) Versioned(v Versioned) {
	e.String(v.Path)
	e.Int32(v.Version)
}

// Versioned takes the fields behind the header.
func (d *Decoder) Versioned() Versioned { return Versioned{d.String(), d.Int32()} }

// A Read are the fields of a request that reads a znode or lists its children.
type Read struct {
	Path  string
	Watch bool // arm one
}

// Read appends r.
func (e *Encoder) Read(r Read) {
	e.String(r.Path)
	e.Bool(r.Watch)
}

// Read takes the fields behind the header.
func (d *Decoder) Read() Read { return Read{d.String(), d.Bool()} }

// Stat takes the metadata of a znode.
func (d *Decoder) Stat() zk.Stat {
	return zk.Stat{
		Czxid:          d.Int64(),
		Mzxid:          d.Int64(),
		Ctime:          d.Int64(),
		Mtime:          d.Int64(),
		Version:        d.Int32(),
		Cversion:       d.Int32(),
		Aversion:       d.Int32(),
		EphemeralOwner: d.Int64(),
		DataLength:     d.Int32(),
		NumChildren:    d.Int32(),
		Pzxid:          d.Int64(),
	}
}

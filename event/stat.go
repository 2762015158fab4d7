package event

import "time"

// A Stat is the bookkeeping that the ensemble keeps of a znode. Ids of
// transactions, "zxids", order all changes of the ensemble; versions begin at zero
// when a znode is created.
//
// It has the fields of go-zookeeper's Stat in the same order, so that one can be
// converted to the other.
type Stat struct {
	Czxid          int64 // the transaction that created the znode
	Mzxid          int64 // the last one that changed its data
	Ctime          int64 // when it was created, in milliseconds since 1970; see Created
	Mtime          int64 // when its data were last changed, in milliseconds since 1970; see Modified
	Version        int32 // how often its data were changed
	Cversion       int32 // how often its children were
	Aversion       int32 // how often its access list was
	EphemeralOwner int64 // the session it belongs to, if it is ephemeral
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // the last transaction that changed its children
}

// Created returns when the znode was created, by the clock of the server that led
// the ensemble then.
func (s Stat) Created() time.Time { return time.UnixMilli(s.Ctime) }

// Modified returns when the data of the znode were last changed, by the clock of
// the server that led the ensemble then.
func (s Stat) Modified() time.Time { return time.UnixMilli(s.Mtime) }

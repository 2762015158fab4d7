package event

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"
)

// Which event uses up which of the three tables is go-zookeeper's doing: see
// notifyWatches in its conn.go. An entry thought armed that is not is deaf.
func TestFiredBy(t *testing.T) {
	all := []zk.EventType{zk.EventNodeCreated, zk.EventNodeDeleted, zk.EventNodeDataChanged, zk.EventNodeChildrenChanged, zk.EventSession, zk.EventNotWatching}
	fired := map[zk.EventType][]watch{
		zk.EventNodeCreated:         {onExist},
		zk.EventNodeDeleted:         {onData, onExist, onChild},
		zk.EventNodeDataChanged:     {onData, onExist},
		zk.EventNodeChildrenChanged: {onChild},
	}
	for _, ev := range all {
		for w := unarmed; w <= onChild; w++ {
			want := false
			for _, f := range fired[ev] {
				want = want || f == w
			}
			if got := w.firedBy(ev); got != want {
				t.Errorf("watch %d fired by %v: %v, want %v", w, ev, got, want)
			}
		}
	}
}

func TestHearsOf(t *testing.T) {
	for _, tt := range []struct {
		k        Kind
		ev       zk.EventType
		expected bool
	}{
		{Presence, zk.EventNodeCreated, true},
		{Presence, zk.EventNodeDeleted, true},
		{Presence, zk.EventNodeDataChanged, true},
		{Presence, zk.EventNodeChildrenChanged, false},
		{Data, zk.EventNodeCreated, true},
		{Data, zk.EventNodeDataChanged, true},
		{Data, zk.EventNodeChildrenChanged, false},
		{Children, zk.EventNodeCreated, true},
		{Children, zk.EventNodeDeleted, true},
		{Children, zk.EventNodeChildrenChanged, true},
	} {
		if got := tt.k.hearsOf(tt.ev); got != tt.expected {
			t.Errorf("%v hears of %v: %v", tt.k, tt.ev, got)
		}
	}
}

// R31: a znode deleted and created anew starts again at version zero, so what
// counts are transaction ids.
func TestSame(t *testing.T) {
	base := Snapshot{Exists: true, Stat: zk.Stat{Czxid: 5, Mzxid: 7, Pzxid: 9, Cversion: 2}, Children: []string{"a"}}
	with := func(f func(*Snapshot)) Snapshot {
		s := base
		f(&s)
		return s
	}
	for _, tt := range []struct {
		name string
		b    Snapshot
		same []Kind
	}{
		{"nothing", base, []Kind{Presence, Data, Children}},
		{"gone", with(func(s *Snapshot) { s.Exists = false }), nil},
		{"suspended", with(func(s *Snapshot) { s.Suspended = true }), nil},
		{"made anew with the same version", with(func(s *Snapshot) { s.Czxid, s.Mzxid, s.Pzxid = 11, 11, 11 }), nil},
		{"written", with(func(s *Snapshot) { s.Mzxid = 8 }), []Kind{Presence, Children}},
		{"children changed", with(func(s *Snapshot) { s.Pzxid = 10 }), []Kind{Presence, Data}},
		{"created without a new pzxid", with(func(s *Snapshot) { s.Cversion = 3 }), []Kind{Presence, Data}},
		{"other names under one stat", with(func(s *Snapshot) { s.Children = []string{"b"} }), []Kind{Presence, Data}},
		{"acl changed", with(func(s *Snapshot) { s.Aversion = 1 }), []Kind{Presence, Data, Children}},
	} {
		for kind := Presence; kind <= Children; kind++ {
			want := false
			for _, k := range tt.same {
				want = want || k == kind
			}
			if same(kind, base, tt.b) != want || same(kind, tt.b, base) != want {
				t.Errorf("%s, of kind %v: same is not %v", tt.name, kind, want)
			}
		}
	}
}

func TestKindString(t *testing.T) {
	if got, want := fmt.Sprint(Presence, Data, Children, Kind(0), Kind(9)), "presence data children invalid invalid"; got != want {
		t.Errorf("kinds are %q, want %q", got, want)
	}
}

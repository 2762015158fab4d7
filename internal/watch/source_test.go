package watch

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// Which event uses up which of the three tables is known here and in coord, in
// armory.fired. An entry thought armed that is not is deaf.
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

func TestCanFire(t *testing.T) {
	for _, tt := range []struct {
		k        event.Kind
		ev       zk.EventType
		expected bool
	}{
		{event.Presence, zk.EventNodeCreated, true},
		{event.Presence, zk.EventNodeDeleted, true},
		{event.Presence, zk.EventNodeDataChanged, true},
		{event.Presence, zk.EventNodeChildrenChanged, false},
		{event.Data, zk.EventNodeCreated, true},
		{event.Data, zk.EventNodeDataChanged, true},
		{event.Data, zk.EventNodeChildrenChanged, false},
		{event.Children, zk.EventNodeCreated, true},
		{event.Children, zk.EventNodeDeleted, true},
		{event.Children, zk.EventNodeChildrenChanged, true},
	} {
		if got := canFire(tt.k, tt.ev); got != tt.expected {
			t.Errorf("%v can be fired by %v: %v", tt.k, tt.ev, got)
		}
	}
}

// R31: a znode deleted and created anew starts again at version zero, so what
// counts are transaction ids.
func TestSame(t *testing.T) {
	base := event.Snapshot{Exists: true, Stat: event.Stat{Czxid: 5, Mzxid: 7, Pzxid: 9, Cversion: 2}, Children: []string{"a"}}
	with := func(f func(*event.Snapshot)) event.Snapshot {
		s := base
		f(&s)
		return s
	}
	for _, tt := range []struct {
		name string
		b    event.Snapshot
		same []event.Kind
	}{
		{"nothing", base, []event.Kind{event.Presence, event.Data, event.Children}},
		{"gone", with(func(s *event.Snapshot) { s.Exists = false }), nil},
		{"suspended", with(func(s *event.Snapshot) { s.Suspended = true }), nil},
		{"made anew with the same version", with(func(s *event.Snapshot) { s.Czxid, s.Mzxid, s.Pzxid = 11, 11, 11 }), nil},
		{"written", with(func(s *event.Snapshot) { s.Mzxid = 8 }), []event.Kind{event.Presence, event.Children}},
		{"children changed", with(func(s *event.Snapshot) { s.Pzxid = 10 }), []event.Kind{event.Presence, event.Data}},
		{"created without a new pzxid", with(func(s *event.Snapshot) { s.Cversion = 3 }), []event.Kind{event.Presence, event.Data}},
		{"other names under one stat", with(func(s *event.Snapshot) { s.Children = []string{"b"} }), []event.Kind{event.Presence, event.Data}},
		{"acl changed", with(func(s *event.Snapshot) { s.Aversion = 1 }), []event.Kind{event.Presence, event.Data, event.Children}},
	} {
		for kind := event.Presence; kind <= event.Children; kind++ {
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

package client

import (
	"encoding/binary"
	"flag"
	"reflect"
	"slices"
	"testing"
	"time"
)

// What is passed to a client on its command line arrives.
func TestArgs(t *testing.T) {
	f := Flags{"etcd", "queue", "host:1", "/r", 3, 4, 5, 6 * time.Second, 7 * time.Millisecond, 8 * time.Minute, 9, 10, "p.prof", "h.prof"}
	var got Flags
	set := flag.NewFlagSet("", flag.ContinueOnError)
	got.define(set)
	if err := set.Parse(f.Args()); err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("%+v, %v; want %+v", got, err, f)
	}
}

// The quantiles are values that were measured: of one value, that value.
func TestQuantiles(t *testing.T) {
	for _, tt := range []struct {
		n        int
		p50, p99 float64
	}{{1, 1, 1}, {2, 1, 2}, {100, 50, 99}, {1000, 500, 990}} {
		p := process{result: make(map[string]float64)}
		var v []time.Duration
		for i := range tt.n {
			v = append(v, time.Duration(tt.n-i)*time.Microsecond)
		}
		p.quantiles("x", v)
		if p.result["x_p50"] != tt.p50 || p.result["x_p99"] != tt.p99 {
			t.Errorf("of 1 to %d: %v", tt.n, p.result)
		}
	}
}

// Frames are told apart however the bytes are cut.
func TestFrames(t *testing.T) {
	frame := func(xid int32, size int) []byte {
		b := make([]byte, 4+size)
		binary.BigEndian.PutUint32(b, uint32(size))
		binary.BigEndian.PutUint32(b[4:], uint32(xid))
		return b
	}
	var wire []byte
	for _, f := range [][]byte{frame(0, 40), frame(1, 4), frame(heartbeat, 8), frame(-1, 20), frame(heartbeat, 4), frame(2, 5000)} {
		wire = append(wire, f...)
	}
	for _, size := range []int{1, 3, 7, 8, 100, len(wire)} {
		var f frames
		var got []int32
		for rest := wire; len(rest) > 0; {
			k := min(size, len(rest))
			f.add(rest[:k], func(xid int32) { got = append(got, xid) })
			rest = rest[k:]
		}
		if want := []int32{0, 1, heartbeat, anEvent, heartbeat, 2}; !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: frames %d, want %d", size, got, want)
		}
	}
}

// An audience is complete when the last has heard of the change, and not because one
// has heard of it twice or of the last one again.
func TestAudience(t *testing.T) {
	a := newAudience(2)
	a.heard(0)
	a.heard(0)
	a.wait(0)
	a.heard(0)
	a.heard(1)
	select {
	case <-a.full:
		t.Error("complete with one of two")
	default:
	}
	a.heard(1)
	a.wait(1)
}

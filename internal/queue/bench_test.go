package queue

import (
	"errors"
	"testing"
)

// BenchmarkMachine is one contender's way through the queue: it waits for another, holds,
// and leaves.
func BenchmarkMachine(b *testing.B) {
	b.ReportAllocs()
	id := newID()
	other, me := prefix(newID(), Lock)+"0000000000", prefix(id, Lock)+"0000000001"
	released := errors.New("released")
	inputs := []input{
		{kind: created, node: me, token: 1},
		{kind: listed, names: []string{other, me}},
		{kind: confirmed, token: 1},
		{kind: blockerGone},
		{kind: quit, err: released},
		{kind: removed},
	}
	for b.Loop() {
		m := &machine{id: id}
		for _, in := range inputs {
			m.step(in)
		}
		if m.state != done || m.token == 0 {
			b.Fatalf("it ends in state %d with token %d", m.state, m.token)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(inputs)), "ns/step")
}

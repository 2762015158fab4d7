package queue

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

// What is missing is made, but not forever; what may not be done is done without, if the
// node can be made; and any other refusal is final.
func TestRemedyFor(t *testing.T) {
	for _, tt := range []struct {
		op    int
		err   error
		tries int
		want  remedy
	}{
		{nodeOp, coord.ErrNoNode, 0, makeDir},
		{nodeOp, coord.ErrNoNode, maxRemedies, none},
		{nodeOp, coord.ErrNoAuth, 0, none},
		{writeOp, coord.ErrNoAuth, 0, withoutWriting},
		{writeOp, coord.ErrBadVersion, 0, none},
		{batonOp, coord.ErrNoNode, 0, makeBatonDir},
		{batonOp, coord.ErrNoNode, maxRemedies, withoutBaton},
		{batonOp, coord.ErrNoAuth, 0, withoutBaton},
		{-1, coord.ErrTooLarge, 0, none},
		{-1, errors.New("other"), 0, none},
	} {
		if got := remedyFor(tt.op, tt.err, tt.tries); got != tt.want {
			t.Errorf("op %d refused with %v after %d remedies: remedy %d, want %d", tt.op, tt.err, tt.tries, got, tt.want)
		}
	}
}

// An alarm rings neither late nor in less than half of the time, and one rings for all who
// ask at about the same time.
func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := new(neighborhood)
		began := time.Now()
		first := n.alarm(time.Second)
		time.Sleep(400 * time.Millisecond)
		if n.alarm(time.Second) != first {
			t.Error("another alarm after 400 ms")
		}
		time.Sleep(200 * time.Millisecond)
		second := n.alarm(time.Second)
		<-first
		if d := time.Since(began); d != time.Second {
			t.Errorf("the first rang after %v", d)
		}
		<-second
		if d := time.Since(began); d != 1600*time.Millisecond {
			t.Errorf("the second rang after %v", d)
		}
	})
}

package inbox

import (
	"errors"
	"slices"
	"sync"
	"testing"
)

var errEnd = errors.New("the end")

// All that was put in comes out, in order and once, and so does the reason for
// which the inbox is closed. After that nothing gets in.
func TestInbox(t *testing.T) {
	b := New[int]()
	ready := func(want bool) {
		t.Helper()
		select {
		case <-b.Ready():
			if !want {
				t.Error("ready, though nothing has come")
			}
		default:
			if want {
				t.Error("not ready, though something has come")
			}
		}
	}
	takes := func(want []int, closed error) {
		t.Helper()
		if got, err := b.Take(); !slices.Equal(got, want) || err != closed {
			t.Errorf("took %v, %v; want %v, %v", got, err, want, closed)
		}
	}
	ready(false)
	takes(nil, nil)
	for i := range 3 {
		if err := b.Put(i); err != nil {
			t.Error(err)
		}
	}
	ready(true)
	ready(false) // one token for all there is
	takes([]int{0, 1, 2}, nil)
	takes(nil, nil)
	if err := b.Put(3); err != nil {
		t.Error(err)
	}
	b.Close(errEnd)
	b.Close(errors.New("another"))
	if err := b.Put(4); err != errEnd {
		t.Errorf("put into a closed inbox: %v", err)
	}
	ready(true)
	takes([]int{3}, errEnd)
	takes(nil, errEnd)
}

// What was taken is the receiver's: what comes later is put elsewhere.
func TestTakenStays(t *testing.T) {
	b := New[int]()
	_ = b.Put(1)
	taken, _ := b.Take()
	_ = b.Put(2)
	if !slices.Equal(taken, []int{1}) {
		t.Errorf("what was taken has become %v", taken)
	}
}

// A receiver that waits hears that the inbox is closed, though nothing has come.
func TestCloseWakes(t *testing.T) {
	b := New[int]()
	b.Close(errEnd)
	select {
	case <-b.Ready():
	default:
		t.Error("not ready, though closed")
	}
}

// Many put and one takes: nothing is lost, and what each has put comes in order.
func TestInboxOfMany(t *testing.T) {
	const putters, each = 8, 1000
	b := New[[2]int]()
	var wg sync.WaitGroup
	for n := range putters {
		wg.Go(func() {
			for i := range each {
				if err := b.Put([2]int{n, i}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		wg.Wait()
		b.Close(errEnd)
	}()
	var next [putters]int
	for closed := false; !closed; {
		<-b.Ready()
		items, err := b.Take()
		for _, item := range items {
			if item[1] != next[item[0]] {
				t.Fatalf("%v came, want number %d", item, next[item[0]])
			}
			next[item[0]]++
		}
		closed = err != nil
	}
	for n, got := range next {
		if got != each {
			t.Errorf("of putter %d %d came", n, got)
		}
	}
}

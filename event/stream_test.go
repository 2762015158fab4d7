package event_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zkcoord/zkcoord/event"
)

var errEnd = errors.New("the end")

// A receive yields the newest value; what was overtaken is dropped; the channel
// yields nothing else, ever, and is not closed.
func TestStreamDeliversTheNewest(t *testing.T) {
	s, p := event.NewStream[int]()
	if v, ok := s.Latest(); ok || s.Err() != nil {
		t.Errorf("new stream: %d, %v, %v", v, ok, s.Err())
	}
	for i := 1; i <= 1000; i++ {
		p.Publish(i) // does not block
	}
	if v, ok := s.Latest(); v != 1000 || !ok {
		t.Errorf("Latest = %d, %v", v, ok)
	}
	if v := <-s.Updates(); v != 1000 {
		t.Errorf("received %d", v)
	}
	if v, ok := s.Latest(); v != 1000 || !ok {
		t.Errorf("Latest after it was received = %d, %v", v, ok)
	}
	empty := func() {
		t.Helper()
		select {
		case v, ok := <-s.Updates():
			t.Errorf("received %d, %v", v, ok)
		default:
		}
	}
	empty()
	p.Publish(1001)
	p.Close(errEnd)
	p.Close(errors.New("another"))
	p.Publish(1002)
	<-s.Done()
	if s.Err() != errEnd {
		t.Errorf("Err = %v", s.Err())
	}
	if v := <-s.Updates(); v != 1001 { // what was published before the end stays
		t.Errorf("received %d", v)
	}
	empty()
	if v, ok := s.Latest(); v != 1001 || !ok {
		t.Errorf("Latest after the end = %d, %v", v, ok)
	}
}

// A stream cannot end without a reason: it would be over and say that it is not, and fail
// only when it is closed again. The one who asks for it hears of it at once.
func TestCloseNeedsAReason(t *testing.T) {
	s, p := event.NewStream[int]()
	func() {
		defer func() {
			if said, ok := recover().(string); !ok || !strings.HasPrefix(said, "event: ") {
				t.Errorf("Close(nil) panics with %q", said)
			}
		}()
		p.Close(nil)
	}()
	p.Close(errEnd) // which is as if the other had not been
	if <-s.Done(); s.Err() != errEnd {
		t.Errorf("Err = %v", s.Err())
	}
}

func TestAll(t *testing.T) {
	s, p := event.NewStream[int]()
	p.Publish(1)
	for v := range s.All() {
		if v != 1 {
			t.Errorf("got %d", v)
		}
		break
	}
	p.Publish(2)
	p.Close(errEnd)
	for range 100 { // value and end are both there: no order of them loses the value
		s, p := event.NewStream[int]()
		p.Publish(2)
		p.Close(errEnd)
		if got := slices.Collect(s.All()); !slices.Equal(got, []int{2}) {
			t.Fatalf("got %v, want [2]", got)
		}
	}
	if got := slices.Collect(s.All()); !slices.Equal(got, []int{2}) {
		t.Errorf("went on with %v, want [2]", got)
	}
	for v := range event.Ended[int](errEnd).All() {
		t.Errorf("a stream that is over yields %d", v)
	}
	if s := event.Ended[int](errEnd); s.Err() != errEnd {
		t.Errorf("Err = %v", s.Err())
	}
}

// Values arrive in order, none twice, and the last one always, with a receiver
// that is slower or faster than the publisher.
func TestStreamOrder(t *testing.T) {
	for range 20 {
		s, p := event.NewStream[int]()
		var wg sync.WaitGroup
		wg.Go(func() {
			last := 0
			for v := range s.All() {
				if v <= last {
					t.Errorf("%d after %d", v, last)
				}
				last = v
			}
			if last != 1000 {
				t.Errorf("ended on %d", last)
			}
		})
		for i := 1; i <= 1000; i++ {
			p.Publish(i)
		}
		p.Close(errEnd)
		wg.Wait()
	}
}

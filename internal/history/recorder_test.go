package history

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// What several goroutines record is read back in the order of time, and what a killed writer
// has left of a line is not.
func TestRecordAndRead(t *testing.T) {
	var file bytes.Buffer
	var now time.Duration // with the recorder's lock
	r := NewRecorder(&file, func() time.Duration { now++; return now })
	var wg sync.WaitGroup
	for _, proc := range []string{"a", "b"} {
		wg.Go(func() {
			for i := range 50 {
				r.Record(Event{Proc: proc, Kind: Call, Op: int64(i), F: Set, Path: "/x", Value: "a \"word\"\n"})
			}
		})
	}
	wg.Wait()
	r.Record(Event{At: 1, Proc: "c", Kind: Died}) // late
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	file.WriteString(`{"at":1,"pro`)
	events, err := Read(&file)
	if err != nil || len(events) != 101 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if events[1].Kind != Died || events[100].At != 100 || events[0].Value != "a \"word\"\n" {
		t.Errorf("%v, %v, ..., %v", events[0], events[1], events[100])
	}
	if _, err := Read(strings.NewReader("{}\nno event\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v", err)
	}
}

// A recorder without a writer keeps the events.
func TestRecorderInMemory(t *testing.T) {
	r := NewRecorder(nil, func() time.Duration { return 7 })
	r.Record(Event{Proc: "a", Kind: Ask})
	r.Record(Event{Proc: "b", Kind: Ask, At: 3})
	if events := r.Events(); len(events) != 2 || events[0].Proc != "b" || events[1].At != 7 {
		t.Errorf("%v", events)
	}
}

// The clock of the machine goes forward.
func TestUptime(t *testing.T) {
	first := Uptime()
	time.Sleep(time.Millisecond)
	if d := Uptime() - first; d < time.Millisecond || d > time.Minute {
		t.Errorf("a millisecond took %v", d)
	}
}

package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// A Recorder writes a history. It is safe for concurrent use.
type Recorder struct {
	clock func() time.Duration

	mu     sync.Mutex
	w      io.Writer
	events []Event // if w is nil
	err    error   // the first of w
}

// NewRecorder returns a recorder that writes to w, each event by one call of Write before
// Record returns: a process that is killed leaves what it has recorded. If w is nil, the
// recorder keeps the events: see [Recorder.Events]. The clock may be nil if every event has
// its time.
func NewRecorder(w io.Writer, clock func() time.Duration) *Recorder {
	return &Recorder{w: w, clock: clock}
}

// Record writes e. If e.At is zero it is the time now.
func (r *Recorder) Record(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.At == 0 && r.clock != nil {
		// With the lock, so that the order of the events is that of their times.
		e.At = r.clock()
	}
	if r.w == nil {
		r.events = append(r.events, e)
		return
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.w.Write(append(line, '\n'))
	}
	r.err = cmp.Or(r.err, err)
}

// Events returns what a recorder without a writer has recorded, in the order of time.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Merge(r.events)
}

// Err returns the first error of the writer.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Read reads a history, and returns it in the order of time. A last line without its end is
// left out: its writer was killed.
func Read(r io.Reader) ([]Event, error) {
	var events []Event
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return Merge(events), nil
		}
		if err != nil {
			return nil, err
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("history: line %d: %w", n, err)
		}
		events = append(events, e)
	}
}

// Merge returns one history of several, in the order of time. Events of one time stay in the
// order in which they are given.
func Merge(histories ...[]Event) []Event {
	events := slices.Concat(histories...)
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

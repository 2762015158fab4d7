package watch

import (
	"container/list"
	"time"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/backoff"
)

// A followed is an entry with what the loop keeps beside it.
type followed struct {
	entry
	notBefore time.Time       // no read begins before
	noListing time.Time       // nor one that lists a directory; see pausePerChild
	place     *list.Element   // in due; nil if it is not there
	failing   bool            // the last read was not answered
	backoff   backoff.Backoff // between reads that are not answered
}

// rest says when the next read may begin, after the one of which in says what has
// become.
func (f *followed) rest(in input) {
	switch {
	case in.kind == answered:
		now, n := time.Now(), time.Duration(len(in.answer.snap.Children))
		f.notBefore = now
		if in.answer.brief {
			f.notBefore = now.Add(time.Duration(f.snap.NumChildren) * pausePerCount)
		} else {
			f.noListing = now.Add(min(n*pausePerChild, time.Second))
		}
	case in.kind == failed && in.read == f.read:
		f.failing = true
		f.notBefore = time.Now().Add(f.backoff.Next())
		return
	case in.kind == failed: // of an earlier session
		return
	}
	f.failing = false
	f.backoff.Reset()
}

// forgive ends the pauses after reads that were not answered: the next server may answer.
func (l *Loop) forgive() {
	for _, k := range l.keys() {
		f := l.followed[k]
		if !f.failing {
			continue
		}
		f.failing, f.notBefore = false, time.Time{}
		f.backoff.Reset()
		if f.state == queued {
			l.enqueue(f)
		}
	}
}

// begin begins reads that are due, as many as may be under way, if there is a connection:
// without one it is not known in which session they would be made.
func (l *Loop) begin() {
	for !l.down && l.reading < maxReads && l.due.Len() > 0 {
		f := l.due.Front().Value.(*followed)
		l.leaveDue(f)
		l.step(f, input{kind: begin, told: f.kind == event.Children && l.prepare(f)})
	}
}

// enqueue puts f into due, at once or after its pause.
func (l *Loop) enqueue(f *followed) {
	notBefore := f.notBefore
	if f.noListing.After(notBefore) && !(f.counts() && l.told(f.path)) {
		notBefore = f.noListing
	}
	wait := time.Until(notBefore)
	switch {
	case f.place != nil:
	case wait > 0:
		// Nobody stops the timer. If the entry has been forgotten, or read, by the time
		// it fires, there is nothing to do.
		time.AfterFunc(wait, func() { l.post(message{input: input{kind: rested}, rested: f.key}) })
	default:
		f.place = l.due.PushBack(f)
	}
}

// leaveDue takes f out of due.
func (l *Loop) leaveDue(f *followed) {
	if f.place != nil {
		l.due.Remove(f.place)
		f.place = nil
	}
}

package watch

import "github.com/zkcoord/zkcoord/event"

// A sink is where the snapshots of a subscription go.
type sink interface {
	Publish(event.Snapshot)
	Close(error)
	// setUpToDate says whether the last snapshot holds until an event says
	// otherwise. It is called with false for everything that has changed before
	// anything of that is published, but for a deletion that is an end.
	setUpToDate(bool)
}

// A streamSink is the sink that is a stream. Its receiver is not told more than
// the snapshots.
type streamSink struct {
	event.Publisher[event.Snapshot]
}

func (streamSink) setUpToDate(bool) {}

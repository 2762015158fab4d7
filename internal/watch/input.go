package watch

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A kind is the kind of an input.
type kind uint8

const (
	subscribe   kind = iota // sub begins to follow the znode
	unsubscribe             // sub no longer follows it
	fired                   // an event of the type event has come for the path
	suspended               // the connection is lost
	resumed                 // there is a connection again or, with newSession, one in another session
	rearmed                 // the server has taken over watch after a reconnect, and has told what had changed
	begin                   // there is room for the read that is due
	answered                // read has been made, with answer
	failed                  // read has not been answered, and may be repeated
	refused                 // the ensemble refuses read because of err
	closed                  // the loop is closed because of err
	rested                  // a pause is over; for the loop alone
	came                    // a child has come or left, as coming says
	lost                    // the watches on the path may be gone
	responded               // the server has answered read, and the answer is on its way
	root                    // somebody follows all that is below the path; for the loop alone
	unroot                  // somebody does so no longer; for the loop alone
)

// An input is what an entry is told.
type input struct {
	kind       kind
	sub        *subscription
	event      zk.EventType
	newSession bool
	told       bool // of begin: children that come and go are told
	coming     coming
	watch      watch
	read       *Read
	answer     *Answer
	err        error
}

// A message is an input with its destination.
type message struct {
	input
	paths   []string // of fired and rearmed: every key there; of root and unroot
	rested  key      // of rested
	session int      // of answers: in which the read began
}

// A verb is the kind of an action.
type verb uint8

const (
	enqueue      verb = iota // say begin when there is room for a read
	read                     // make read, and say what has become of it
	deliver                  // give snap to sub
	tellUpToDate             // tell sub whether what it has is up to date
	end                      // end sub, because of err
	forget                   // forget the entry: it is as good as a new one
)

var verbs = [...]string{"enqueue", "read", "given", "up to date", "ended", "forget"}

// An action is what an entry wants done. It can print itself, because the traces in
// testdata are written in those words.
type action struct {
	verb     verb
	sub      *subscription
	snap     event.Snapshot
	upToDate bool
	read     *Read
	err      error
}

func (a action) String() string {
	switch a.verb {
	case read:
		return a.read.String()
	case deliver:
		return "given " + describe(a.snap)
	case tellUpToDate:
		if !a.upToDate {
			return "not up to date"
		}
	case end:
		return fmt.Sprint("ended: ", a.err)
	}
	return verbs[a.verb]
}

// actions collects what a step wants done, in order. The order is part of the promise:
// a subscriber hears that it is not up to date before it gets anything new.
type actions []action

func (do *actions) add(a action) { *do = append(*do, a) }

// describe tells a snapshot from others in a few words: by the newest transaction in it.
func describe(s event.Snapshot) string {
	text := "nothing"
	if s.Version == passed.Version && !s.Exists {
		text = "passed"
	}
	if s.Exists {
		text = fmt.Sprintf("%#x", max(s.Mzxid, s.Pzxid))
	}
	if s.Suspended {
		text += ", suspended"
	}
	return text
}

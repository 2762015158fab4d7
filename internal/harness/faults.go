package harness

import (
	"fmt"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A Fault is what happens when a frame is met. It says in words what becomes of
// the frame.
type Fault struct {
	name string
	// meet does what happens beside the frame, and says what becomes of that. T is
	// the timeout of c's session.
	meet func(w *World, c *Client, T time.Duration) coordtest.Action
}

func (f Fault) String() string { return f.name }

// Called returns f under another name.
func (f Fault) Called(name string) Fault {
	f.name = name
	return f
}

// And returns the fault that is both f and g. Of what they do to the frame the
// later in the order of [coordtest.Action] counts.
func (f Fault) And(g Fault) Fault {
	return Fault{f.name + ", " + g.name, func(w *World, c *Client, T time.Duration) coordtest.Action {
		return max(f.meet(w, c, T), g.meet(w, c, T))
	}}
}

// act returns the fault that does something to the frame alone.
func act(name string, a coordtest.Action) Fault {
	return Fault{name, func(*World, *Client, time.Duration) coordtest.Action { return a }}
}

// strike has frame, one of c, meet f.
func (f Fault) strike(w *World, c *Client, frame coordtest.Frame) coordtest.Action {
	c.struck.Store(time.Now().UnixNano())
	action := f.meet(w, c, c.timeout)
	if action == coordtest.Drop && frame.Op == "event" {
		action = coordtest.HangUp
	}
	return action
}

// Lost: a frame is lost alone, as a request or a reply may be in a server. An event
// goes with its connection: TCP loses no frame, and no client could tell.
var Lost = act("lost", coordtest.Drop)

// Cut: a frame is lost with its connection.
var Cut = act("lost with the connection", coordtest.HangUp)

// Last: a frame is the last of its connection.
var Last = act("the last of its connection", coordtest.PassAndHangUp)

// Delayed returns the fault that a frame is delayed by T*n/d, and so is what travels
// behind it in the directions given.
func Delayed(dir coordtest.Direction, n, d time.Duration) Fault {
	name := fmt.Sprintf("delayed by %v", share(n, d))
	if dir != coordtest.Both {
		name = fmt.Sprintf("delayed on the way %v by %v", way(dir), share(n, d))
	}
	return Fault{name, func(_ *World, c *Client, T time.Duration) coordtest.Action {
		time.AfterFunc(T*n/d, c.Link.Stall(dir))
		return coordtest.Pass
	}}
}

// Expired: a frame is followed by the end of the client's session.
var Expired = Fault{"followed by the session's expiry", func(w *World, c *Client, _ time.Duration) coordtest.Action {
	w.Expire(c)
	return coordtest.Pass
}}

// Frozen returns the fault that the server freezes for T*n/d as a frame comes.
func Frozen(n, d time.Duration) Fault {
	return Fault{fmt.Sprintf("there while the server freezes for %v", share(n, d)), func(w *World, _ *Client, T time.Duration) coordtest.Action {
		time.AfterFunc(T*n/d, w.Fake.Freeze())
		return coordtest.Pass
	}}
}

// share is T*n/d in words.
func share(n, d time.Duration) string {
	s := "T"
	if n > 1 {
		s = fmt.Sprint(int64(n), "T")
	}
	if d > 1 {
		s += fmt.Sprint("/", int64(d))
	}
	return s
}

func way(d coordtest.Direction) string {
	return map[coordtest.Direction]string{coordtest.ToServer: "there", coordtest.ToClient: "back"}[d]
}

// Common are the faults that every recipe must bear.
var Common = []Fault{
	Lost,
	Cut,
	Last,
	Delayed(coordtest.Both, 1, 4),
	Delayed(coordtest.ToServer, 2, 1).Called("delayed on the way there beyond the session's end"),
	Delayed(coordtest.ToClient, 2, 1).Called("delayed on the way back beyond the session's end"),
	Expired,
	Frozen(1, 4).Called("there while the server freezes"),
}

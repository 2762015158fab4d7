package coord

import "fmt"

// A State says how a [Client]'s session stands, and so how far what was read in it, or is
// held in it, can be relied on.
type State uint8

const (
	Connecting State = iota // there has been no session yet
	Connected               // a server serves the session
	Suspended               // the connection is lost; the session may survive that
	Expired                 // the session is over; the next one is being opened
	Closed                  // Close was called; final
)

// String returns the name of s.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

var stateNames = [...]string{"connecting", "connected", "suspended", "expired", "closed"}

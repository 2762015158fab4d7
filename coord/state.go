package coord

import "fmt"

// A State says how much may be believed of a [Client]'s session.
type State uint8

const (
	Connecting State = iota // there has been no session yet
	Connected               // the session is alive
	Suspended               // the connection is lost; the session may yet survive
	Expired                 // the session is over; another is being opened
	Closed                  // Close was called
)

// String returns the name of s.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

var stateNames = [...]string{"connecting", "connected", "suspended", "expired", "closed"}

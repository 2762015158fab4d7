package coord

import (
	"fmt"
	"strconv"
)

// A SessionID is the ensemble's number of a session, zero for none. As text, in JSON and
// in logs it is in hex, as in ZooKeeper's own logs; [Stat].EphemeralOwner is the same
// number.
type SessionID int64

// String returns id in hex, such as "0x100a3b2c4d50000".
func (id SessionID) String() string { return fmt.Sprintf("%#x", uint64(id)) }

// MarshalText implements [encoding.TextMarshaler]. The text is that of String.
func (id SessionID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *SessionID) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 64)
	if err == nil {
		*id = SessionID(n)
	}
	return err
}

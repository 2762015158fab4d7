package coord_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
)

// A session id is text wherever it is printed: in hex, as in ZooKeeper's logs, and in
// JSON a string, because JavaScript rounds numbers that large. What is read back is the
// same.
func TestSessionIDIsHex(t *testing.T) {
	for id, want := range map[coord.SessionID]string{
		0:                   "0x0",
		0x100a3b2c4d50001:   "0x100a3b2c4d50001",
		-0x7f00000000000000: "0x8100000000000000",
	} {
		c := coord.Contender{Node: "n", Session: id}
		data, err := json.Marshal(c)
		must(t, err)
		var back coord.Contender
		must(t, json.Unmarshal(data, &back))
		var logged bytes.Buffer
		slog.New(slog.NewTextHandler(&logged, nil)).Info("", "session", id)
		if fmt.Sprint(id) != want || !strings.Contains(string(data), `"Session":"`+want+`"`) || back != c || !strings.Contains(logged.String(), "session="+want+"\n") {
			t.Errorf("%s is %v, %s and back %v, logged %s", want, id, data, back, &logged)
		}
	}
	var id coord.SessionID
	if err := id.UnmarshalText([]byte("session")); err == nil || id != 0 {
		t.Errorf("from no number: %v, %v", id, err)
	}
}

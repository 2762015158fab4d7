package event

import (
	"fmt"
	"testing"
)

func TestKindString(t *testing.T) {
	if got, want := fmt.Sprint(Presence, Data, Children, Kind(0), Kind(9)), "presence data children invalid invalid"; got != want {
		t.Errorf("kinds are %q, want %q", got, want)
	}
}

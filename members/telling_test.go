package members

import (
	"errors"
	"testing"
)

// What has been told has been told, though a later generation is refused before who
// waits for the earlier one has looked.
func TestTelling(t *testing.T) {
	refusal := errors.New("refused")
	tells := newTelling(nil)
	first, second, third := tells.put(nil), tells.put(nil), tells.put(nil)
	expect := func(gen int, settled bool, want error) {
		t.Helper()
		if got, _, err := tells.outcome(gen); got != settled || err != want {
			t.Errorf("generation %d is settled: %v, %v; want %v, %v", gen, got, err, settled, want)
		}
	}
	expect(first, false, nil)
	tells.settle(first, nil)
	expect(first, true, nil)
	expect(second, false, nil)
	tells.settle(second, refusal)
	expect(first, true, nil)
	expect(second, true, refusal)
	expect(third, false, nil)
	tells.settle(third, nil)
	expect(third, true, nil)
}

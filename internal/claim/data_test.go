package claim

import (
	"errors"
	"testing"
)

// What is written is written, even if a later generation is refused before the caller
// that waits for the earlier one has looked.
func TestData(t *testing.T) {
	refusal := errors.New("refused")
	d := NewData(nil)
	first, second, third := d.Set(nil), d.Set(nil), d.Set(nil)
	expect := func(gen int, decided bool, want error) {
		t.Helper()
		if got, _, err := d.Outcome(gen); got != decided || err != want {
			t.Errorf("generation %d is decided: %v, %v; want %v, %v", gen, got, err, decided, want)
		}
	}
	expect(first, false, nil)
	d.Acknowledge(first, nil)
	expect(first, true, nil)
	expect(second, false, nil)
	d.Acknowledge(second, refusal)
	expect(first, true, nil)
	expect(second, true, refusal)
	expect(third, false, nil)
	d.Acknowledge(third, nil)
	expect(third, true, nil)
}

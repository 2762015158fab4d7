package quote

import (
	"strings"
	"testing"
)

// What may be a secret is not quoted, and what was meant as a number is.
func TestNumber(t *testing.T) {
	for data, want := range map[string]string{
		"":                            `""`,
		"1.5":                         `"1.5"`,
		"-1_000 ":                     `"-1_000 "`,
		"+7\n":                        `"+7\n"`,
		strings.Repeat("1234", 11):    `"` + strings.Repeat("1234", 10) + `"`,
		"hunter2":                     "7 bytes",
		"12345678e":                   "9 bytes",
		"\x00\x00\x00\x07":            "4 bytes",
		"1\ufffd":                     "4 bytes",
		"1\xff":                       "2 bytes",
		"٣":                           "2 bytes",
		strings.Repeat("1", 99) + "x": "100 bytes",
	} {
		if got := Number([]byte(data)); got != want {
			t.Errorf("%q: %s, want %s", data, got, want)
		}
	}
}

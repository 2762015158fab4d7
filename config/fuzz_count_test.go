package config

import (
	"strconv"
	"testing"
	"unicode"
)

// FuzzCount: what is taken for a number is what this package, or kazoo, would have written,
// and everything else is refused in words that are fit to print.
func FuzzCount(f *testing.F) {
	for _, data := range []string{"", "0", "-0", "007", "+1", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1234", "\x00\x00\x00\x01", "1e3", " 1", "1_0", "\xff\x1b[2J\u202e"} {
		f.Add([]byte(data), int64(len(data)))
	}
	f.Fuzz(func(t *testing.T, data []byte, n int64) {
		got, err := decodeCount(data)
		if err == nil && len(data) > 0 && strconv.FormatInt(got, 10) != string(data) {
			t.Errorf("%q is %d", data, got)
		}
		if err != nil {
			for _, r := range err.Error() {
				if !unicode.IsPrint(r) {
					t.Errorf("%q: %q", data, err)
				}
			}
		}
		text, err := encodeCount(n)
		if back, wrong := decodeCount(text); err != nil || wrong != nil || back != n {
			t.Errorf("%d is written as %q, %v, and that is read as %d, %v", n, text, err, back, wrong)
		}
	})
}

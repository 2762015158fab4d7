package semaphore

import (
	"errors"
	"strconv"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// FuzzNumber: a directory's data are a number of permits, or nothing, or refused as
// another recipe's, in words that are fit to print.
func FuzzNumber(f *testing.F) {
	for _, data := range []string{"", "1", "0", "-1", "+1", "007", "2147483647", "2147483648", "9223372036854775808", "1_0", "0x10", " 1", "\x00\x00\x00\x01", "\xff\x1b[2J\u202e"} {
		f.Add([]byte(data), "lock-0000000001")
	}
	f.Fuzz(func(t *testing.T, data []byte, child string) {
		n, err := parseNumber(data)
		switch {
		case len(data) == 0 && n == 0 && err == nil:
		case err != nil && (n != 0 || !errors.Is(err, coord.ErrForeign)):
			t.Errorf("%q: %d, %v", data, n, err)
		case err == nil && (n < 1 || int(int32(n)) != n):
			t.Errorf("%q: %d", data, n)
		}
		harness.Printable(t, err)
		if n, err := parseNumber([]byte(strconv.Itoa(max(1, len(data))))); n != max(1, len(data)) || err != nil {
			t.Errorf("%d of %d: %v", n, len(data), err)
		}
		harness.Printable(t, checkForeign([]string{"locks", "leases", child}))
	})
}

package quote

import (
	"bytes"
	"fmt"
	"strings"
)

// Number returns what an error says of data that are not the number that they should be.
// It quotes the first 40 bytes if all data are of what numbers are written with: digits,
// signs, '.', '_' and space. Of other data, which may be a password in the wrong place, it
// says only how long they are.
func Number(data []byte) string {
	if bytes.ContainsFunc(data, func(r rune) bool { return !strings.ContainsRune("0123456789+-._ \t\r\n", r) }) {
		return fmt.Sprintf("%d bytes", len(data))
	}
	return fmt.Sprintf("%.40q", data)
}

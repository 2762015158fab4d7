package leader

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zkcoord/zkcoord/coord"
)

// FuzzAnnouncement: what is read of an announcement is what was written, and of anything
// else nothing that could not have been written.
func FuzzAnnouncement(f *testing.F) {
	for _, data := range []string{
		"", "\n", "node 0x1 \"label\"\nvalue", "node 1 ``\n", "node 0x8000000000000000 \"\"\n", "node -1 \"\"\n", " 0x1 \"\"\n", "node 0x1 'a'\n",
	} {
		f.Add([]byte(data), "abcdefghijklm-lock-0000000001", int64(7), "host\n\"", []byte("value\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte, node string, token int64, label string, value []byte) {
		if a, ok := decode(data); ok {
			if a.token <= 0 || a.node == "" || !bytes.HasSuffix(data, a.value) || strings.Contains(a.node, " ") {
				t.Errorf("%q is read as %+v", data, a)
			}
			if again, ok := decode(a.encode()); !ok || !same(again, a) {
				t.Errorf("%q is read as %+v, and that again as %+v, %v", data, a, again, ok)
			}
		}
		made := announcement{node, coord.Token(token), label, value}
		got, ok := decode(made.encode())
		if valid := token > 0 && node != "" && !strings.ContainsAny(node, " \n"); ok != valid || ok && utf8.ValidString(label) && !same(got, made) {
			t.Errorf("%+v is read as %+v, %v", made, got, ok)
		}
	})
}

func same(a, b announcement) bool {
	return a.node == b.node && a.token == b.token && a.label == b.label && bytes.Equal(a.value, b.value)
}

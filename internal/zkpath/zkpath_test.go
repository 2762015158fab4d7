package zkpath

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// What servers refuse is refused before it is sent, and nothing else is.
func TestCheck(t *testing.T) {
	for _, good := range []string{"/", "/a", "/a/b", "/a b", "/...", "/a.b/.c", "/ü/日本", "/a\u2028", "/zookeeper"} {
		if err := Check(good); err != nil {
			t.Errorf("Check(%q) = %v", good, err)
		}
	}
	for _, bad := range []string{"", "a", "a/b", "//", "/a/", "/a//b", "/.", "/..", "/a/./b", "/a/../b", "/\x00", "/a\nb", "/\x7f",
		"/\u0080", "/\u009f", "/\ue000", "/\uf8ff", "/\ufff0", "/\uffff", "/\xff", "/\xed\xa0\x80", "/\U0001f600"} {
		if err := Check(bad); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
			t.Errorf("Check(%q) = %v", bad, err)
		}
	}
	long := "/" + strings.Repeat("x", maxLen)
	if err := Check(long[:maxLen]); err != nil {
		t.Error(err)
	}
	if err := Check(long); !errors.Is(err, ErrInvalid) || len(err.Error()) > 200 {
		t.Errorf("a path that is too long: %.300v", err)
	}
}

// Rel undoes what Join does with a path that begins with a slash.
func TestJoinAndRel(t *testing.T) {
	for _, tt := range [][3]string{
		{"/", "/", "/"}, {"/", "/a", "/a"}, {"/", "a", "/a"}, {"/", "a/b", "/a/b"},
		{"/r", "/", "/r"}, {"/r", "a", "/r/a"}, {"/r", "a/b", "/r/a/b"}, {"/r/s", "/a/b", "/r/s/a/b"},
	} {
		dir, rel, want := tt[0], tt[1], tt[2]
		if got := Join(dir, rel); got != want {
			t.Errorf("Join(%q, %q) = %q, want %q", dir, rel, got, want)
		}
		if got, want := Rel(dir, want), "/"+strings.TrimPrefix(rel, "/"); got != want {
			t.Errorf("Rel(%q, %q) = %q, want %q", dir, tt[2], got, want)
		}
	}
}

func TestParent(t *testing.T) {
	for path, want := range map[string]string{"/a": "/", "/a/b": "/a", "/a/b/c": "/a/b"} {
		if got := Parent(path); got != want {
			t.Errorf("Parent(%q) = %q, want %q", path, got, want)
		}
	}
}

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

// Rel undoes what Full does.
func TestFullAndRel(t *testing.T) {
	for _, tt := range [][3]string{{"/", "/", "/"}, {"/", "/a", "/a"}, {"/r", "/", "/r"}, {"/r/s", "/a/b", "/r/s/a/b"}} {
		root, path, full := tt[0], tt[1], tt[2]
		if got := Full(root, path); got != full {
			t.Errorf("Full(%q, %q) = %q, want %q", root, path, got, full)
		}
		if got := Rel(root, full); got != path {
			t.Errorf("Rel(%q, %q) = %q, want %q", root, full, got, path)
		}
	}
}

// A name that is none makes no path that is one.
func TestJoin(t *testing.T) {
	for _, tt := range [][3]string{{"/", "a", "/a"}, {"/", "a/b", "/a/b"}, {"/r", "a", "/r/a"}, {"/r/s", "a/b", "/r/s/a/b"}} {
		if got := Join(tt[0], tt[1]); got != tt[2] {
			t.Errorf("Join(%q, %q) = %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
	for _, name := range []string{"", "/", "/a", "a/"} {
		for _, dir := range []string{"/", "/r"} {
			if got := Join(dir, name); Check(got) == nil && got != "/" {
				t.Errorf("Join(%q, %q) = %q, which is valid", dir, name, got)
			}
		}
	}
}

func TestParent(t *testing.T) {
	for path, want := range map[string]string{"/a": "/", "/a/b": "/a", "/a/b/c": "/a/b"} {
		if got := Parent(path); got != want {
			t.Errorf("Parent(%q) = %q, want %q", path, got, want)
		}
		if dir, name := Split(path); dir != want || Join(dir, name) != path {
			t.Errorf("Split(%q) = %q, %q", path, dir, name)
		}
	}
}

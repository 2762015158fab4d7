package coord

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrInvalidPath is the cause of every refusal of a path or name that can not
// be one in ZooKeeper.
var ErrInvalidPath = errors.New("coord: invalid path")

// maxPath is the most bytes that a path may have.
const maxPath = 16 << 10

// MaxData is the most bytes that recipes let a znode have. Servers take requests
// of just under 1 MiB, unless they are told otherwise, and what is left over is
// for the paths and access lists. Where these need more, recipes refuse as many
// data as do not fit; see [CheckSize].
const MaxData = 1<<20 - 32<<10

// CheckPath reports why path can not be the path of a znode: it must begin with
// a slash and must not end with one, unless it is the root; no element may be
// empty, "." or ".."; it must be valid UTF-8 without control characters and the
// other code points that the server refuses; and it must not exceed 16 KiB.
func CheckPath(path string) error {
	bad := func(why string) error { return fmt.Errorf("%w %q: %s", ErrInvalidPath, path, why) }
	switch {
	case len(path) > maxPath:
		return fmt.Errorf("%w %q...: %d bytes, at most %d are allowed", ErrInvalidPath, path[:64], len(path), maxPath)
	case path == "":
		return bad("empty")
	case path[0] != '/':
		return bad("does not begin with a slash")
	case path == "/":
		return nil
	case strings.HasSuffix(path, "/"):
		return bad("ends with a slash")
	}
	for element := range strings.SplitSeq(path[1:], "/") {
		if err := checkName(element); err != "" {
			return bad(err)
		}
	}
	return nil
}

// checkName returns what is wrong with name as one element of a path, or "".
func checkName(name string) string {
	switch name {
	case "":
		return "has an empty element"
	case ".", "..":
		return "has a relative element"
	}
	if !utf8.ValidString(name) {
		return "is not valid UTF-8"
	}
	for _, r := range name {
		// Servers look at UTF-16, where what is above U+FFFF is written in
		// characters that they refuse.
		if r > 0xffff || r < 0x20 || 0x7f <= r && r <= 0x9f || 0xd800 <= r && r <= 0xf8ff || 0xfff0 <= r && r <= 0xffff {
			return fmt.Sprintf("contains the character %U", r)
		}
	}
	return ""
}

// Child returns the path of what is called name in the directory at path, or has
// that path from there.
func Child(path, name string) string {
	if path == "/" {
		return "/" + name
	}
	return path + "/" + name
}

// join returns path as seen from above the chroot root.
func join(root, path string) string {
	switch {
	case root == "/":
		return path
	case path == "/":
		return root
	}
	return root + path
}

// parent returns the path above path, which must not be the root.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

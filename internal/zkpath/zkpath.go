package zkpath

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrInvalid is the cause of every refusal of a path that ZooKeeper does not
// allow. Package coord exports it as ErrInvalidPath.
var ErrInvalid = errors.New("coord: invalid path")

// maxLen is the most bytes that a path may have.
const maxLen = 16 << 10

// Check reports why path cannot be the path of a znode: it must begin with a
// slash and must not end with one, unless it is the root; no element may be
// empty, "." or ".."; it must be valid UTF-8 without control characters and the
// other code points that servers refuse; and it must not exceed 16 KiB.
func Check(path string) error {
	bad := func(why string) error { return fmt.Errorf("%w %q: %s", ErrInvalid, path, why) }
	switch {
	case len(path) > maxLen:
		return fmt.Errorf("%w %q...: %d bytes, at most %d are allowed", ErrInvalid, path[:64], len(path), maxLen)
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
		if why := checkElement(element); why != "" {
			return bad(why)
		}
	}
	return nil
}

// checkElement returns what is wrong with name as one element of a path, or "".
func checkElement(name string) string {
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
		// Servers look at UTF-16, where code points above U+FFFF are written in
		// characters that they refuse.
		if r > 0xffff || r < 0x20 || 0x7f <= r && r <= 0x9f || 0xd800 <= r && r <= 0xf8ff || 0xfff0 <= r && r <= 0xffff {
			return fmt.Sprintf("contains the character %U", r)
		}
	}
	return ""
}

// Join returns the path of what is called name in the directory dir, or has that
// path from there, such as "a/b". If name begins with a slash the result is invalid.
func Join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// Parent returns the path of the znode above path, which must not be the root.
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// Split returns the path of the znode above path, which must not be the root, and the name
// that path has there.
func Split(path string) (dir, name string) {
	return Parent(path), path[strings.LastIndexByte(path, '/')+1:]
}

// Full returns path, which is one below the chroot root, as the ensemble knows it.
func Full(root, path string) string {
	switch {
	case root == "/":
		return path
	case path == "/":
		return root
	}
	return root + path
}

// Rel undoes Full.
func Rel(root, full string) string {
	switch {
	case root == "/":
		return full
	case full == root:
		return "/"
	}
	return strings.TrimPrefix(full, root)
}

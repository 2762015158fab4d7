package coord

import "github.com/zkcoord/zkcoord/internal/zkpath"

// MaxData is the most bytes that recipes let a znode have. Servers take requests
// of just under 1 MiB, unless they are told otherwise, and what is left over is
// for the paths and access lists. Where these need more, recipes refuse as many
// data as do not fit; see [CheckSize].
const MaxData = 1<<20 - 32<<10

// CheckPath reports why path cannot be the path of a znode.
func CheckPath(path string) error { return zkpath.Check(path) }

// Child returns the path of what is called name in the directory at path, or has
// that path from there.
func Child(path, name string) string { return zkpath.Join(path, name) }

//go:build !unix

package coord

var writeNow func(fd uintptr, b []byte) (int, error)

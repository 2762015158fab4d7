//go:build unix

package coord

import "syscall"

// writeNow writes as much of b as fd takes without blocking.
var writeNow = func(fd uintptr, b []byte) (int, error) {
	switch n, err := syscall.Write(int(fd), b); err {
	case nil:
		return n, nil
	case syscall.EAGAIN, syscall.EINTR:
		return 0, nil
	default:
		return 0, err
	}
}

package history

import (
	"syscall"
	"time"
	"unsafe"
)

// Uptime reads a clock that all processes of the machine share, and nobody can set.
func Uptime() time.Duration {
	const monotonic = 1 // CLOCK_MONOTONIC
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(ts.Nano())
}

package coord

import (
	"syscall"
	"time"
	"unsafe"
)

// slept returns by how much the clock that counts sleep is ahead of the one that
// does not. Both are the kernel's: nobody can set them.
func slept() time.Duration {
	const (
		monotonic = 1 // CLOCK_MONOTONIC
		boottime  = 7 // CLOCK_BOOTTIME
		exact     = 100 * time.Microsecond
	)
	// The clocks cannot be read at the same instant. If the thread is interrupted in
	// between, the difference is too large, so the closest readings of a few count.
	var ahead time.Duration
	best := time.Duration(1<<63 - 1)
	for range 10 {
		before, ok := readClock(monotonic)
		boot, counts := readClock(boottime)
		after, _ := readClock(monotonic)
		if !ok || !counts {
			return 0 // a kernel older than 2.6.39, or a sandbox that knows no such clock
		}
		if took := after - before; took < best {
			best, ahead = took, boot-after
		}
		if best < exact {
			break
		}
	}
	return ahead
}

// readClock returns the reading of a clock, and reports whether there is one. It is a
// system call, which the standard library does not offer for these clocks.
func readClock(id uintptr) (time.Duration, bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}

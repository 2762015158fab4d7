package coord

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// slept returns by how much the clock that counts sleep is ahead of the one that
// does not. Both are the kernel's: nobody can set them.
//
// To read them takes system calls, and the wall clock none. A sleep moves the wall clock
// against the clock that does not count sleep, and so does whoever sets it; nothing else
// does. So the clocks are read again only when the wall clock has moved. A sleep could
// escape only if the wall clock was set back by just its length, before it was over.
func slept() time.Duration {
	now := time.Now()
	return lastRead.slept(now.Round(0).Sub(started.Round(0))-now.Sub(started), readSleep)
}

var (
	started  = time.Now()
	lastRead sleepReading
)

// A sleepReading is the newest reading of how long the machine has slept.
type sleepReading struct {
	atomic.Pointer[struct{ wall, slept time.Duration }]
}

// slept returns how long the machine has slept, when the wall clock is ahead by wall. It
// calls read if the wall clock has moved since that was last called: since then, and not
// since the last call of slept, so that short sleeps add up.
func (r *sleepReading) slept(wall time.Duration, read func() time.Duration) time.Duration {
	if last := r.Load(); last != nil && wall-last.wall < noSleep/2 && last.wall-wall < noSleep/2 {
		return last.slept
	}
	slept := read()
	r.Store(&struct{ wall, slept time.Duration }{wall, slept})
	return slept
}

// readSleep reads the clocks.
func readSleep() time.Duration {
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

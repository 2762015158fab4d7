//go:build !linux

package coord

import "time"

var started = time.Now()

// slept returns by how much the wall clock is ahead of the monotonic one: for how long
// the machine has slept, plus by how much its clock was set forward. The two cannot be
// told apart here.
func slept() time.Duration {
	now := time.Now()
	return now.Round(0).Sub(started.Round(0)) - now.Sub(started)
}

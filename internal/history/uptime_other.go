//go:build !linux

package history

import "time"

// Uptime reads a clock that all processes of the machine share. Here it is that of the wall,
// which must not be set meanwhile.
func Uptime() time.Duration { return time.Duration(time.Now().UnixNano()) }

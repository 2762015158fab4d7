//go:build !race

package harness

// racing is whether the race detector is there.
const racing = false

//go:build race

package harness

const racing = true

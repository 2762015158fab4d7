//go:build !linux

package main

import "math"

// Package ensemble starts servers on Linux alone.
func memory() float64      { return math.NaN() }
func descriptors() float64 { return math.NaN() }

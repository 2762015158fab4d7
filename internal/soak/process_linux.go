package main

import (
	"math"
	"os"
	"strconv"
	"strings"
)

// memory returns how much memory the process has, in MB.
func memory() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return math.NaN()
	}
	pages, err := strconv.Atoi(fields[1])
	if err != nil {
		return math.NaN()
	}
	return float64(pages*os.Getpagesize()) / 1e6
}

// descriptors returns how many file descriptors the process has.
func descriptors() float64 {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return math.NaN()
	}
	return float64(len(names))
}

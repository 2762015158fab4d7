// Package unqueued is the machinery of lock.Unqueued, whose comment says what it
// promises and what it costs. A Hold is a claim to the path, see package claim, which
// waits for a znode that is in the way, no matter which program has made it.
package unqueued

// Package sim plays scripts: some clients use all recipes at once, on the in-process server
// in a bubble, while faults happen to them, for virtual minutes or hours. Whatever the library
// promises is checked.
//
// # A script is the reproduction
//
// A [Script] is a text, a line for each operation and each fault:
//
//	seed 1
//	clients 2
//	timeouts 4s
//	end 1m0s
//	at 0s c1 lock /lock/a hold 30s
//	at 1s c2 lock /lock/a hold 2s
//	at 5s stall c1 to-server for 10s
//
// The first part of a path names the recipe. Forms has all that a line can be. [Generate] makes
// scripts of a seed; [Play] plays one; [Shrink] leaves of a script that fails the few lines
// that fail. Scripts that have found something are in testdata, and are played by the tests.
//
// The same script gives the same history. What clients do meets at the server only, in the
// order in which their frames come, and no two clients have frames at the same time: see line.
// Jitters and ids are functions of the seed and the time. What is left is the order in which
// the goroutines of one client run at one moment.
//
// # What is checked
//
// While a script is played, that nothing ends with an error that it may not end with, and that
// views do not go back. When it is over, and all faults with it: that everybody who waits
// proceeds; that everything can be acquired again, and all who follow it see that; that the
// history, which package history has the rules for, has no violation; and, when the clients
// are closed, that the server has no znode, session or watch of theirs, and the bubble no
// goroutine.
package sim

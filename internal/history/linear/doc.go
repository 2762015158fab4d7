// Command linear checks a history by searching for an order of its operations.
//
//	go run . [flags] file...
//
// What happened to one lock, one semaphore, one value or one counter is linearizable if there
// is an order of all operations, each at one moment between its call and its answer, in which
// a single such thing would have given the same answers. The search is done by
// github.com/anishathalye/porcupine, for each path by itself, so this shares no code and no
// idea with history.Check, but for which events belong together.
//
// The exit status is 1 if there is no such order for some path, and 2 if that could not be
// decided in time. For each path that has none a page of HTML shows how far the search got.
//
// # Holds
//
// A hold is two operations: it is acquired between Ask and Acquired, and released between
// Release and Released. One that is lost is released by the ensemble, at some time after
// its holder was told; and that of a killed process at some time after the kill. Such a
// release is open: it may come as late as the search likes.
//
// For those that share, readers and the holders of permits, it comes at once. That finds an
// order whenever there is one, since a place that is free earlier is in nobody's way, and
// spares the search the 2^n ways in which n open releases can have come or not.
//
// A wait that was given up is left out. The ensemble may have granted it without anybody's
// knowledge, but then it has taken that back, too.
//
// # Unknown outcomes
//
// A write whose answer was lost may have come at any time after its call, or never. Values
// are written once. So one that was never read need not have come, and one that was read
// has come before that read was answered.
//
// Additions to a counter cannot be told apart. Those that are unknown make up a reserve, from
// which what is too much in a sum may come. A counter from which something is subtracted is left
// to history.Check.
package main

// Command soak has one process use every recipe for a long time, on a real ensemble in which
// something breaks every minute, and says whether anything grows.
//
//	go run ./internal/soak -for 1h -every 1m -out soak.out
//
// A dozen clients work. In each period one fault comes and goes: a server is killed or frozen, or
// a client is cut off, for a moment or until its session has expired. Then the work stops,
// everything comes to rest, and what is there is measured: memory, goroutines and file descriptors
// of the process, and watches, znodes, ephemeral znodes and connections of the servers. In
// between the same is measured every second, but for the heap, which is measured at rest, when what
// nobody needs has been collected.
//
// The verdict compares the samples at rest of the last quarter with those of the second: what
// is the same again and again must not have grown. The first quarter is there to warm up. The
// samples are written to samples.csv, and drawn in soak.svg. The exit status is 1 if something
// grows, or if some kind of work does not succeed any more, and 2 if it could not be told.
package main

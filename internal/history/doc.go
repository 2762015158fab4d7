// Package history is what several processes did with the recipes of this module, in one
// format, and says whether the recipes kept their promises.
//
// A history is a file of JSON lines, one [Event] each. Simulated and real runs record it
// with a [Recorder], every process with one of its own; [Read] and [Merge] bring the files
// together, and [Check] looks for violations. The module linear, below this package, has a
// second opinion: it searches for an order of all operations that explains what they
// returned.
//
// # One clock
//
// All processes of a history read one clock: that of a bubble, or [Uptime]. So times of
// different processes can be compared, and each is read on the careful side. When a holder
// acquires something, it reads the clock after Acquired was closed. When it releases, it
// reads the clock before it calls Release. In between it certainly held, so where two such
// spans overlap, and one of them excludes the other, both did hold.
//
// A loss is different. Its time is read after Lost was closed, when the holder can know,
// and the ensemble may have let the next one in while the goroutine that records it was
// waiting for a processor. The library tells a holder some time before that can happen; the
// time that was left is the margin, which a [Report] has. A negative one is a violation: the
// holder may have worked on beside the next.
//
// A killed process acts no more from the moment of [Died], which is read before the kill. The
// ensemble keeps what it held until its session has ended; nothing is known of when that is,
// and nothing has to be.
//
// # What is out of reach
//
// [coord.Hold.Lost] names what it cannot see in time: a process that is stopped, and people
// who delete znodes or close sessions. A fault of the kinds [Pause], [Delete] and [Expire]
// tells of them, and ends what its victim held, if the victim hears of its loss not much later:
// see [Grace]. What such a holder still writes must be refused all the same.
//
// [coord.Hold.Lost]: https://pkg.go.dev/github.com/zkcoord/zkcoord/coord#Hold.Lost
package history

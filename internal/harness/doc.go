// Package harness is the ground on which the tests of this module stand.
//
// A [World] is a server with the clients of one test: in a testing/synctest
// bubble with the in-process server of coordtest, where time costs nothing and
// [World.Rest] waits until everything does, or on real servers. Most tests run on
// both, so that the one is held to the other; what a test waits for is then a
// condition with a deadline, and never a length of time.
//
//	func TestSomething(t *testing.T) {
//		harness.Both(t, func(t *testing.T, in harness.Maker) {
//			in(t, func(w *harness.World) {
//				c := w.Client(harness.T)
//				...
//				w.Eventually("the znode is gone", func() bool { ... })
//			})
//		})
//	}
//
// [Faults] lets each frame that a client sends or receives during a [Workload] meet
// each [Fault], every time in a bubble of its own, and has a second one strike soon
// behind, also while the client recovers from the first. A case that does not meet its
// faults shows nothing, and fails. With a [Lie] a client meets a hostile server.
//
// A [Record] is what has passed on a client's link: which requests, how many events.
//
// TestMain is to wrap its m in [Main]. [Stress] says whether tests shall run their
// long form.
package harness

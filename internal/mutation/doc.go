// Command mutation puts faults into the library, one at a time, and finds out which test
// catches each. What it has found out is in docs/mutation.md.
//
// A fault, or mutant, is a small change to one file, such as somebody could make by
// mistake. The file itself is not touched: the tests are built with an overlay, in which
// the changed file stands in its place. Run are the tests in bubbles, which need no
// server, of the package itself and then of those that use it, until one fails. The test
// that has caught the mutant the last time goes first, so that a run in which nothing has
// changed is quick.
//
// A mutant that no test catches is an error, unless it stands among the harmless ones with
// the reason. So is one that cannot be put in, because the code has changed: its text must
// be in the file just once.
//
//	go run ./internal/mutation                 # all mutants
//	go run ./internal/mutation -run leader     # those whose names match
//	go run ./internal/mutation -sample 3       # three, other ones each day
//	go run ./internal/mutation -write          # and put the results into docs/mutation.md
//	go run ./internal/mutation -list
package main

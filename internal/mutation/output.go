package main

import (
	"regexp"
	"strings"
)

// An end says how the tests of a package have ended.
type end uint8

const (
	passed  end = iota // no test has noticed anything
	failed             // a test has failed
	hung               // a test was not over in time
	crashed            // the process has ended during a test, by a panic on another goroutine, say
	leaked             // goroutines were left when all tests had passed
)

var ends = [...]string{"survived", "failed", "hung", "crashed", "leaked"}

func (e end) String() string { return ends[e] }

// endOf returns the end that String gives this word for, and whether there is one.
func endOf(word string) (end, bool) {
	for i, w := range ends {
		if w == word {
			return end(i), true
		}
	}
	return 0, false
}

// An output is what a test binary has said so far, with -test.v=test2json: then it says of a
// subtest at once that it has failed.
type output struct {
	failed  string // the first test that has failed, a subtest before the one it is part of
	current string // the test that was last said to run
	hung    bool   // the time for all tests is over
	running string // a test that ran then, the innermost
	leaked  bool
}

var (
	failure = regexp.MustCompile(`^ *--- FAIL: (\S+) \(`)
	turn    = regexp.MustCompile(`^=== (?:RUN|CONT|NAME) +(\S+)`)
	overdue = regexp.MustCompile(`^\t+(Test\S+|Example\S*|Fuzz\S+) \(`)
)

// line takes the next line.
func (o *output) line(text string) {
	text = strings.TrimPrefix(text, "\x16") // which marks the lines of package testing
	switch {
	case o.failed != "":
	case failure.MatchString(text):
		o.failed = failure.FindStringSubmatch(text)[1]
	case turn.MatchString(text):
		o.current = turn.FindStringSubmatch(text)[1]
	case strings.HasPrefix(text, "panic: test timed out after "):
		o.hung = true
	case o.hung && overdue.MatchString(text):
		if name := overdue.FindStringSubmatch(text)[1]; len(name) > len(o.running) {
			o.running = name
		}
	case strings.HasPrefix(text, "goleak: Errors on successful test run"):
		o.leaked = true
	}
}

// end returns how the tests have ended, and the name of the test that tells.
func (o *output) end(success bool) (end, string) {
	switch {
	case o.hung: // which the test package reports as a failure as well
		return hung, o.running
	case o.failed != "":
		return failed, o.failed
	case o.leaked:
		return leaked, "TestMain"
	case !success:
		return crashed, o.current
	}
	return passed, ""
}

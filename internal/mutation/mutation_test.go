package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// Every mutant can be put in: its text is in the file just once, and what is made of that is
// a Go file. No two have the same id, and each says what it breaks.
func TestMutantsApply(t *testing.T) {
	seen := make(map[string]bool)
	for _, m := range all() {
		if seen[m.id()] {
			t.Errorf("%s: there are two", m.id())
		}
		seen[m.id()] = true
		if m.breaks == "" || m.old == m.new {
			t.Errorf("%s breaks nothing", m.id())
		}
		if _, ok := users[m.dir()]; !ok {
			t.Errorf("%s: it is not said who uses %s", m.id(), m.dir())
		}
		was := read(t, m.file)
		now, err := m.apply(was)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, now, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", m.id(), err)
		}
	}
	for id := range harmless {
		if !seen[id] {
			t.Errorf("%s is harmless, and is no mutant", id)
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d mutants", len(seen))
	}
}

// The table has a row for each mutant and no others. The tests that it names are there, and
// what no test has caught is said to be harmless.
func TestTableIsComplete(t *testing.T) {
	rows, err := parse(read(t, tablePath))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all() {
		r, ok := rows[m.id()]
		delete(rows, m.id())
		switch _, why := harmless[m.id()]; {
		case !ok:
			t.Errorf("%s has no row: run %q", m.id(), "go run ./internal/mutation -write -missing")
		case why != (r.end == passed):
			t.Errorf("%s is harmless: %v; it has %v", m.id(), why, r.end)
		case r.end != passed && !hasTest(t, r.pkg, r.test):
			t.Errorf("%s was caught by %s of %s, which is not there", m.id(), r.test, r.pkg)
		}
	}
	for id := range rows {
		t.Errorf("%s has a row, and is no mutant", id)
	}
}

// hasTest reports whether the package has the test, of whose name only what is before a
// slash is looked for.
func hasTest(t *testing.T, pkg, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	test, _, _ = strings.Cut(test, "/")
	declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(test) + `\(`)
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && declared.Match(text)
	})
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A text that is not there, or is there twice, is an error, and so nothing is run.
func TestMutantThatDoesNotApply(t *testing.T) {
	for text, ok := range map[string]bool{"a b c": true, "a c": false, "a b b c": false} {
		if _, err := (mutant{file: "f.go", old: "b", new: "x"}).apply(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What a test binary says tells how the tests have ended, and which test shows it.
func TestEndIsReadFromTheOutput(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		success    bool
		end        end
		test       string
	}{
		{"all pass", "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n", true, passed, ""},
		{"a test fails", "=== RUN   TestA\n    a_test.go:1: bad\n--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n", false, failed, "TestA"},
		{"a subtest fails", "\x16=== RUN   TestA/x\n\x16    --- FAIL: TestA/x (0.00s)\n--- FAIL: TestA (0.00s)\n", false, failed, "TestA/x"},
		{"a test hangs", "=== RUN   TestA\n=== RUN   TestB\npanic: test timed out after 1m0s\n\trunning tests:\n\t\tTestA (59s)\n\t\tTestA/x (59s)\n\ngoroutine 1:\n", false, hung, "TestA/x"},
		{"the process ends", "=== RUN   TestA\n=== RUN   TestB\npanic: oh\n\ngoroutine 9:\n", false, crashed, "TestB"},
		{"goroutines are left", "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\ngoleak: Errors on successful test run: found\n", false, leaked, "TestMain"},
		{"a log that looks like a failure", "=== RUN   TestA\n    a_test.go:1: --- FAIL: TestB (0.00s)\n--- PASS: TestA (0.00s)\nPASS\n", true, passed, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var o output
			for line := range strings.Lines(tt.says) {
				o.line(strings.TrimSuffix(line, "\n"))
			}
			if e, test := o.end(tt.success); e != tt.end || test != tt.test {
				t.Errorf("%v by %q, want %v by %q", e, test, tt.end, tt.test)
			}
		})
	}
}

// With as many seeds as it takes, every mutant has its turn; a seed has the same ones each
// time.
func TestSampleComesRound(t *testing.T) {
	const n = 7
	var had []string
	for seed := range (len(all()) + n - 1) / n {
		var now, again bytes.Buffer
		for _, m := range sample(all(), n, seed) {
			had = append(had, m.id())
			fmt.Fprintln(&now, m.id())
		}
		for _, m := range sample(all(), n, seed) {
			fmt.Fprintln(&again, m.id())
		}
		if now.String() != again.String() {
			t.Errorf("seed %d has\n%s and then\n%s", seed, &now, &again)
		}
	}
	for _, m := range all() {
		if !slices.Contains(had, m.id()) {
			t.Errorf("%s has had no turn", m.id())
		}
	}
}

// What is written can be read.
func TestTableIsReadAsWritten(t *testing.T) {
	mutants := []mutant{{name: "a", file: "x/f.go", breaks: "this | that"}, {name: "b", file: "x/f.go", breaks: "more"}, {name: "c", file: "x/f.go"}}
	wrote := table{
		"x/a": {verdict{failed, "x/y", "TestA/this_|_that", 1500 * time.Millisecond}, "abc1234"},
		"x/b": {verdict{end: passed, took: time.Second}, "abc1235"},
	}
	got, err := parse(string(wrote.text(mutants, time.Now())))
	if err != nil || len(got) != len(wrote) {
		t.Fatalf("read %v, %v", got, err)
	}
	for id, want := range wrote {
		if got[id] != want {
			t.Errorf("%s: read %v, want %v", id, got[id], want)
		}
	}
}

// A mutant is caught by the test that fails with it, and the others are not waited for. One
// that no test looks at survives. One that does not build is an error. The file itself stays
// as it is.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	const source = "package a\n\nfunc Sum(x, y int) int { return x + y }\n\nfunc Unseen() int { return 1 }\n"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example\n\ngo 1.25\n",
		"a.go":   source,
		"a_test.go": `package a

import "testing"

func TestSum(t *testing.T) {
	t.Run("of two", func(t *testing.T) {
		if Sum(1, 2) != 3 {
			t.Error("wrong")
		}
	})
	if t.Failed() {
		select {}
	}
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := runner{root: dir, limit: time.Minute, last: map[string]verdict{"./minus": {end: failed, pkg: ".", test: "TestSum/of_two"}}}
	for _, tt := range []struct {
		mutant mutant
		want   verdict
		bad    bool
	}{
		{mutant{name: "minus", file: "a.go", old: "x + y", new: "x - y"}, verdict{end: failed, pkg: ".", test: "TestSum/of_two"}, false},
		{mutant{name: "two", file: "a.go", old: "return 1", new: "return 2"}, verdict{end: passed}, false},
		{mutant{name: "nonsense", file: "a.go", old: "return 1", new: "return nil"}, verdict{}, true},
	} {
		got, err := r.run(t.Context(), tt.mutant)
		if got.took = 0; got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%s: %v, %v; want %v", tt.mutant.id(), got, err, tt.want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.go")); err != nil || string(text) != source {
		t.Errorf("the file has become %q, %v", text, err)
	}
}

// What becomes of a mutant is as it should be if a test has caught it, or if it has survived
// and is said to be harmless.
func TestSurvivorsAreErrors(t *testing.T) {
	harmless["x/harmless"] = "it is never called"
	defer delete(harmless, "x/harmless")
	for _, tt := range []struct {
		name string
		end  end
		ok   bool
	}{{"harmful", failed, true}, {"harmful", hung, true}, {"harmful", passed, false}, {"harmless", passed, true}, {"harmless", failed, false}} {
		if said, ok := describe(mutant{name: tt.name, file: "x/f.go"}, verdict{end: tt.end}, nil); ok != tt.ok {
			t.Errorf("%s, %v: %q", tt.name, tt.end, said)
		}
	}
}

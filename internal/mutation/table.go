package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tablePath is the file with what became of each mutant, from the root of the module.
const tablePath = "docs/mutation.md"

// A row is what was found out about one mutant, and when.
type row struct {
	verdict
	commit string // at which it was tried
}

// A table has the rows of all mutants, by id.
type table map[string]row

// readTable reads the table in the file name. One that does not exist is empty.
func readTable(name string) (table, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return table{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(string(text))
}

// parse returns the rows of a table: of each the id, what has caught the mutant, how, in
// how many seconds, and the commit. What the mutant breaks is not read.
func parse(text string) (table, error) {
	t := table{}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		bad := func(what string) (table, error) { return nil, fmt.Errorf("%s in the row %q", what, line) }
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 6 {
			return bad("not six cells")
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		r := row{commit: cells[5]}
		var ok bool
		if r.end, ok = endOf(cells[3]); !ok {
			return bad("no end")
		}
		if by := code.FindAllStringSubmatch(cells[2], -1); r.end != passed {
			if len(by) != 2 {
				return bad("no package and test")
			}
			r.pkg, r.test = by[0][1], unescape.Replace(by[1][1])
		}
		seconds, err := strconv.ParseFloat(cells[4], 64)
		if err != nil {
			return bad("no seconds")
		}
		r.took = time.Duration(seconds * float64(time.Second))
		t[strings.Trim(cells[0], "`")] = r
	}
	return t, nil
}

var (
	code     = regexp.MustCompile("`([^`]*)`")
	escape   = strings.NewReplacer("|", `\|`, "`", "'")
	unescape = strings.NewReplacer(`\|`, "|")
)

// write writes the rows of mutants to the file name.
func (t table) write(name string, mutants []mutant, now time.Time) error {
	return os.WriteFile(name, t.text(mutants, now), 0o666)
}

// text returns the file with the rows of mutants, as far as there are any.
func (t table) text(mutants []mutant, now time.Time) []byte {
	var b bytes.Buffer
	mutants = slices.SortedFunc(slices.Values(mutants), func(a, b mutant) int { return cmp.Compare(a.id(), b.id()) })
	count := map[end]int{}
	for _, m := range mutants {
		if r, ok := t[m.id()]; ok {
			count[r.end]++
		}
	}
	fmt.Fprintf(&b, `# Mutants

What the tests catch, found out by putting faults into the library, one at a time. For each the
table names a test that fails, one of those that need no server, and says for how many
seconds tests ran until then. A fault can also make a test hang, end the test process, or
leave goroutines behind. One that no test catches has the reason why it is harmless.

This file is written by `+"`make mutants`"+`, last on %s. What to do about a mutant that
survives, or that does not fit the code any more, is in `+"`go doc ./internal/mutation`"+`.

%d mutants: `, now.Format("2 January 2006"), len(mutants))
	for i, e := range slices.Sorted(maps.Keys(count)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d %v", count[e], e)
	}
	b.WriteString(".\n\n| Mutant | What it breaks | Caught by | How | Seconds | Commit |\n|---|---|---|---|---:|---|\n")
	for _, m := range mutants {
		r, ok := t[m.id()]
		if !ok {
			continue
		}
		by := fmt.Sprintf("`%s` `%s`", r.pkg, escape.Replace(r.test))
		if r.end == passed {
			by = "none: " + escape.Replace(cmp.Or(harmless[m.id()], "it needs a test"))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %v | %.1f | %s |\n", m.id(), escape.Replace(m.breaks), by, r.end, r.took.Seconds(), r.commit)
	}
	return b.Bytes()
}

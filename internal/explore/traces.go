package explore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what machines do into testdata; commit only what you understand")

// Traces plays each file of testdata in a subtest. A line is an input, and behind an
// arrow what a machine makes of it. For each file newStep returns a function that
// gives the words of each line in turn to one machine, and returns what that made of
// them, or "" for a line without an arrow. The inputs are padded to width.
func Traces(t *testing.T, width int, newStep func(*testing.T) func(words []string) string) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces:", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			was, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			now := play(string(was), width, newStep(t))
			if *update {
				if err := os.WriteFile(file, []byte(now), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			wants, gots := strings.Split(string(was), "\n"), strings.Split(now, "\n")
			for i, want := range wants {
				if got := gots[i]; got != want {
					t.Errorf("%s:%d:\n got %s\nwant %s", file, i+1, got, want)
				}
			}
		})
	}
}

// play returns trace with everything behind the arrows as it is now.
func play(trace string, width int, step func(words []string) string) string {
	lines := strings.Split(trace, "\n")
	for i, text := range lines {
		text, _, _ = strings.Cut(text, "->")
		words := strings.Fields(text)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if made := step(words); made != "" {
			lines[i] = strings.TrimRight(fmt.Sprintf("%-*s -> %s", width, strings.Join(words, " "), made), " ")
		}
	}
	return strings.Join(lines, "\n")
}

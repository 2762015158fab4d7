package coord_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The doc of Error.Op lists the operations there are: each one that an error, a Hold or a
// stream of these packages is made with, and no other.
func TestErrorOpsAreDocumented(t *testing.T) {
	var code string
	for _, dir := range []string{"coord", "lock", "rwlock", "members", "config",
		"lock/leader", "lock/semaphore", "members/barrier", "internal/queue", "internal/unqueued"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		must(t, err)
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				text, err := os.ReadFile(file)
				must(t, err)
				code += string(text)
			}
		}
	}
	_, doc, _ := strings.Cut(code, "// Op is, in lower case,")
	doc, _, ok := strings.Cut(doc, "\tOp   string")
	if !ok {
		t.Fatal("no doc of Error.Op")
	}
	documented := make(map[string]bool)
	for _, list := range regexp.MustCompile(`(?s): ([a-z, /\s]+)[;.]`).FindAllStringSubmatch(doc, -1) {
		for _, op := range regexp.MustCompile(`[a-z]+`).FindAllString(list[1], -1) {
			documented[op] = true
			if !strings.Contains(code, `"`+op+`"`) {
				t.Errorf("nothing in the code is the documented %q", op)
			}
		}
	}
	if n := len(documented); n < 30 {
		t.Errorf("%d operations are documented: %v", n, documented)
	}
	made := regexp.MustCompile(`(?:\bOp: +|\bError\{|NewHold\(\w+, |NewStream\(\w+, [\w.]+, )"([a-z]+)"`)
	for _, m := range made.FindAllStringSubmatch(code, -1) {
		if op := m[1]; !documented[op] && op != "release" && op != "lost" {
			t.Errorf("%q is not documented", op)
		}
	}
}

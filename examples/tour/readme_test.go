package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The programs in the README are those of the examples, which are compiled and run.
func TestReadme(t *testing.T) {
	var examples string
	for _, name := range []string{"lock", "rwlock", "members", "config", "coord"} {
		examples += flat(t, "../../"+name+"/example_test.go")
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(flat(t, "../../README.md"), -1)
	if len(blocks) < 4 {
		t.Fatalf("%d blocks of Go", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(examples, b[1]) {
			t.Errorf("not in an example:\n%s", b[1])
		}
	}
}

// flat returns the lines of a file without indentation.
func flat(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(string(text), "")
}

package readme

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// A snippet is a block of Go in a document.
type snippet struct {
	doc  string // its file name
	line int    // where it begins
	text string
}

var (
	fence   = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	imports = regexp.MustCompile(`(?ms)\A(?:// [^\n]*\n)*(?:package \w+\n\s*)?import (?:"[^"]*"|\(\n.*?^\))\n`)
	padding = regexp.MustCompile(`(?m)^[ \t]*(//.*)?\n|^[ \t]+`)
)

// snippets returns the blocks of Go in the README and in docs.
func snippets(t *testing.T) (all []snippet) {
	t.Helper()
	for _, doc := range docs(t) {
		text := read(t, filepath.Join(root, doc))
		for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
			all = append(all, snippet{doc, 1 + strings.Count(text[:at[2]], "\n"), text[at[2]:at[3]]})
		}
	}
	if len(all) < 8 {
		t.Fatalf("only %d snippets", len(all))
	}
	return all
}

// A reader can take each snippet as it stands, and needs to guess nothing: it is a
// whole program, or a file that lacks nothing but its package clause. The recipe that the
// README points to needs nothing but what the module exports.
func TestSnippetsCompile(t *testing.T) {
	dir := t.TempDir()
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	// What the module requires, the snippets do.
	mod := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllLiteralString(read(t, filepath.Join(root, "go.mod")), "module snippets") +
		fmt.Sprintf("\nrequire github.com/zkcoord/zkcoord v0.0.0\n\nreplace github.com/zkcoord/zkcoord => %q\n", here)
	write(t, filepath.Join(dir, "go.mod"), mod)
	write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	for i, s := range snippets(t) {
		name, text := "snippet.go", fmt.Sprintf("//line %s:%d\n%s", s.doc, s.line, s.text)
		if !regexp.MustCompile(`(?m)^package `).MatchString(s.text) {
			text = "package snippet\n\n" + text
		}
		if strings.Contains(s.text, "\nfunc Test") {
			name = "snippet_test.go"
		}
		write(t, filepath.Join(dir, fmt.Sprint("snippet", i), name), text)
	}
	write(t, filepath.Join(dir, "recipe", "recipe_test.go"), read(t, filepath.Join(root, recipe)))
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	switch exit := new(exec.ExitError); {
	case errors.As(err, &exit):
		t.Errorf("%s", out)
	case err != nil:
		t.Skipf("needs the go command: %v", err)
	}
}

// recipe is the file with the recipe that the README points to.
const recipe = "coord/example_recipe_test.go"

// The README says how long that recipe is, without blank lines and comments.
func TestRecipeIsAsLongAsTheReadmeSays(t *testing.T) {
	said := regexp.MustCompile(`(\d+) lines\]\(` + recipe + `\)`).FindStringSubmatch(read(t, filepath.Join(root, "README.md")))
	code := regexp.MustCompile(`(?s)\ntype Slots .*\nfunc Example`).FindString(read(t, filepath.Join(root, recipe)))
	lines := strings.Count(flat(strings.TrimSuffix(code, "func Example")), "\n")
	if said == nil || said[1] != fmt.Sprint(lines) {
		t.Errorf("the README says %q, and the recipe has %d lines", said, lines)
	}
}

// What the snippets do is tested: their code is that of an example.
func TestSnippetsAreExamples(t *testing.T) {
	var examples string
	for _, pattern := range []string{"*/*_test.go", "*/*/*_test.go", "examples/*/main.go"} {
		for _, name := range glob(t, pattern) {
			if strings.Contains(name, "example") {
				examples += flat(read(t, filepath.Join(root, name)))
			}
		}
	}
	for _, s := range snippets(t) {
		if code := flat(imports.ReplaceAllLiteralString(s.text, "")); !strings.Contains(examples, code) {
			t.Errorf("%s:%d: not in an example:\n%s", s.doc, s.line, code)
		}
	}
}

// No link within the repository leads nowhere.
func TestLinks(t *testing.T) {
	for _, doc := range docs(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, filepath.Join(root, doc)), -1) {
			file, anchor := m[1], m[2]
			if strings.Contains(file, ":") {
				continue // another site
			}
			target := filepath.Join(root, filepath.Dir(doc), file)
			if file == "" {
				target = filepath.Join(root, doc)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", doc, file, err)
			} else if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s, which has no %q", doc, file, anchor)
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)#]*)#?([^)]*)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile(`[^\w -]`)
)

// anchors returns the anchors of the headings in a document.
func anchors(t *testing.T, name string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(read(t, name), -1) {
		text := dropped.ReplaceAllLiteralString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}

// docs returns the names of the documents.
func docs(t *testing.T) []string { return append(glob(t, "docs/*.md"), "README.md") }

// flat returns text without indentation, and without lines that are blank or have
// nothing but a comment.
func flat(text string) string { return padding.ReplaceAllLiteralString(text+"\n", "") }

// glob returns the names of the files below root that match pattern.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := fs.Glob(os.DirFS(root), pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

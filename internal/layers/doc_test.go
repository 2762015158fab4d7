package layers

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// The comment of a package is in its doc.go, where a reader looks first. That of a
// program is above its main function.
func TestPackageCommentsAreInDocFiles(t *testing.T) {
	for _, p := range list(t, module+"/...") {
		if p.Name == "main" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
			switch {
			case err != nil:
				t.Error(err)
			case filepath.Base(name) == "doc.go":
				found = f.Doc != nil
			case f.Doc != nil:
				t.Errorf("%s has a package comment", name)
			}
		}
		if !found {
			t.Errorf("%s has no package comment in a doc.go", p.ImportPath)
		}
	}
}

package layers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zkcoord/zkcoord"

// floors are the packages of the library, the lowest first. A package may import
// those of the floors below its own.
var floors = [][]string{
	{"internal/ask", "internal/async", "internal/backoff", "internal/inbox", "internal/jute", "internal/quote", "internal/zkpath"},
	{"event"},
	{"internal/following", "internal/watch"},
	{"coord"},
	{"internal/claim", "internal/subtree"},
	{"internal/queue"},
	{"internal/unqueued"},
	{"config", "lock", "lock/leader", "lock/semaphore", "members", "rwlock"},
	{"members/barrier"},
}

// tools are the packages that only tests and examples import, the lowest first. Each
// may import those before it, and the library up to the floor of the package named.
var tools = []struct{ name, upTo string }{
	{"internal/history", ""},
	{"internal/ensemble", ""},
	{"coord/coordtest", "coord"},
	{"internal/harness", "coord"},
	{"internal/locktest", "coord"},
	{"internal/interop", "members"},
	{"internal/recipes", "members"},
	{"internal/sim", "members/barrier"},
	{"internal/chaos", "members/barrier"},
	{"internal/layers", ""},
	{"internal/explore", ""},
	{"internal/readme", ""},
	{"internal/mutation", ""},
}

// programs are the folders whose packages may import all others, and which none imports.
var programs = []string{"examples/", "bench/", "cmd/", "internal/chaos/cmd/", "internal/soak"}

// modules are those that the library may depend on.
var modules = []string{module, "github.com/go-zookeeper/zk", "golang.org/x/sync"}

// A pkg is what go list says of a package.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	Imports    []string // not those of tests
	DepOnly    bool
	Module     *struct{ Path string }
}

// The packages of the module import each other in one direction only.
func TestImportsRunDownwards(t *testing.T) {
	for _, wrong := range upwards(list(t, module+"/...")) {
		t.Error(wrong)
	}
}

// Every package that has a place is there: a row that names none would forbid nothing.
func TestEveryPlaceIsTaken(t *testing.T) {
	var there []string
	for _, p := range list(t, module+"/...") {
		there = append(there, strings.TrimPrefix(p.ImportPath, module+"/"))
	}
	places := slices.Concat(floors...)
	for _, x := range tools {
		places = append(places, x.name)
	}
	for _, name := range places {
		if !slices.Contains(there, name) {
			t.Errorf("%s has a place, and is no package", name)
		}
	}
}

// What a program inherits from the library is two modules.
func TestLibraryDependsOnFewModules(t *testing.T) {
	var library []string
	for _, p := range list(t, module+"/...") {
		if floor(strings.TrimPrefix(p.ImportPath, module+"/")) >= 0 {
			library = append(library, p.ImportPath)
		}
	}
	if len(library) < 8 {
		t.Errorf("the library has only the packages %q", library)
	}
	for _, p := range list(t, append([]string{"-deps"}, library...)...) {
		if p.Module != nil && !slices.Contains(modules, p.Module.Path) {
			t.Errorf("the library depends on %s of module %s", p.ImportPath, p.Module.Path)
		}
	}
}

// An import that runs upwards is named.
func TestUpwardImportsAreNamed(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"coord", "event", ""},
		{"lock", "internal/queue", ""},
		{"lock", "members", "lock imports members, which is not below it"},
		{"event", "coord", "event imports coord, which is not below it"},
		{"coord", "coord/coordtest", "coord imports coord/coordtest, which is for tests"},
		{"internal/locktest", "coord/coordtest", ""},
		{"internal/locktest", "lock", "internal/locktest imports lock, which is not below it"},
		{"coord/coordtest", "internal/locktest", "coord/coordtest imports internal/locktest, which is not below it"},
		{"examples/tour", "coord/coordtest", ""},
		{"lock", "examples/tour", "lock imports examples/tour, which is a program"},
		{"internal/attic", "coord", "internal/attic has no place among floors, tools and programs"},
	} {
		got := upwards([]pkg{{ImportPath: module + "/" + tt.from, Imports: []string{"context", module + "/" + tt.to}}})
		if tt.want == "" && len(got) > 0 || tt.want != "" && !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s imports %s: %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}

// upwards names the imports that do not run downwards.
func upwards(pkgs []pkg) (wrong []string) {
	for _, p := range pkgs {
		from := strings.TrimPrefix(p.ImportPath, module+"/")
		if floor(from) < 0 && tool(from) < 0 && !program(from) {
			wrong = append(wrong, from+" has no place among floors, tools and programs")
			continue
		}
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, module+"/")
			if why := forbidden(from, to); ours && why != "" {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, which %s", from, to, why))
			}
		}
	}
	return wrong
}

// forbidden says why from may not import to, if so.
func forbidden(from, to string) string {
	below := floor(from) // the lowest floor that from may not import
	if i := tool(from); i >= 0 {
		below = floor(tools[i].upTo) + 1
	}
	switch {
	case program(to):
		return "is a program"
	case program(from):
		return ""
	case tool(to) >= 0 && tool(from) < 0:
		return "is for tests"
	case tool(to) >= 0 && tool(to) >= tool(from), tool(to) < 0 && floor(to) >= below:
		return "is not below it"
	}
	return ""
}

// floor returns the index of name's floor, -1 if it has none.
func floor(name string) int {
	return slices.IndexFunc(floors, func(names []string) bool { return slices.Contains(names, name) })
}

// tool returns the index of name among the tools, -1 if it is none.
func tool(name string) int {
	return slices.IndexFunc(tools, func(t struct{ name, upTo string }) bool { return t.name == name })
}

func program(name string) bool {
	return slices.ContainsFunc(programs, func(dir string) bool { return strings.HasPrefix(name, dir) })
}

// list runs go list.
func list(t *testing.T, args ...string) (pkgs []pkg) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Name,Dir,Imports,DepOnly,Module"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Skipf("needs the go command: %v", err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

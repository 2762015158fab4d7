package interop

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// kazoo is an installed kazoo.
type kazoo struct {
	version
	python string
}

// needKazoo ends the test unless there are a server and a kazoo. Of two pythons it
// takes the first that has one: the one in $PATH, which may be that of a virtual
// environment, and that of the system, which has Debian's.
func needKazoo(t *testing.T) kazoo {
	t.Helper()
	ensemble.Shared(t) // else there is nothing to look for
	missing := errors.New("needs kazoo")
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		// Not the version of the package's metadata: Debian's 2.8.0 is 2.8.0.dev0 there.
		text, err := output(python, "-c", "from kazoo.version import __version__; print(__version__)")
		var v version
		if err == nil {
			v, err = parseVersion(text)
		}
		if err == nil && !v.since(2, 8) {
			err = fmt.Errorf("%s has kazoo %s, which knows no extra_lock_patterns", python, text)
		}
		if err == nil {
			t.Logf("kazoo %s", text)
			return kazoo{v, python}
		}
		missing = fmt.Errorf("%w\n%w", missing, err)
	}
	need(t, missing)
	return kazoo{}
}

// contender is what a contender of class is called that follows our advice.
func (k kazoo) contender(class string) string {
	return class + ":" + strings.Join(k.advice(class), ",")
}

// advice returns the extra_lock_patterns that docs/other-clients.md advises for class.
func (k kazoo) advice(class string) []string {
	switch {
	case class == "Lock":
		return []string{"-lock-"}
	case class == "WriteLock":
		return []string{"__WRIT__", "__READ__"}
	case k.since(2, 9):
		return []string{"__WRIT__"}
	default:
		return []string{"__WRIT__", "__rlock__"}
	}
}

// TestKazooAdvice: what is tested here is what docs/other-clients.md says.
func TestKazooAdvice(t *testing.T) {
	page, err := os.ReadFile("../../docs/other-clients.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []kazoo{{version: version{2, 8}}, {version: version{2, 9}}} {
		for _, class := range []string{"Lock", "ReadLock", "WriteLock"} {
			want := `extra_lock_patterns=["` + strings.Join(k.advice(class), `", "`) + `"]`
			if !strings.Contains(string(page), want) {
				t.Errorf("kazoo %d.%d, %s: no %s in docs/other-clients.md", k.major, k.minor, class, want)
			}
		}
	}
}

// TestKazoo: kazoo's locks and ours exclude each other where they shall, and
// everybody has its turn, if kazoo's are given what docs/other-clients.md says.
func TestKazoo(t *testing.T) {
	k := needKazoo(t)
	p := launch(t, "kazoo", []string{k.python, "testdata/contenders.py"}, 3)
	p.run(t, "Lock", func(x *contest) {
		l := k.contender("Lock")
		x.theirs(p, l, l, l)
		x.mutexes()
		x.finish()
	})
	r, w := k.contender("ReadLock"), k.contender("WriteLock")
	p.run(t, "ReadLock and WriteLock", func(x *contest) {
		x.theirs(p, r, r, w)
		x.readersAndWriters()
		x.finish()
	})
	p.run(t, "readers share", func(x *contest) { x.share(p.peers[0], r) })
	for _, tc := range []struct {
		reader string
		stuck  bool
	}{
		{r, false},
		{"ReadLock:__WRIT__", !k.since(2, 9)},
	} {
		p.run(t, tc.reader+" before a writer", func(x *contest) { x.overtaken(p.peers[0], tc.reader, tc.stuck) })
	}
	p.run(t, "Election", func(x *contest) { x.observed(p.peers[0], "Election:"+strings.Join(k.advice("Lock"), ",")) })
	p.run(t, "directory removed", func(x *contest) { x.removed(k.python) })
}

package coordtest_test

import (
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the transcripts in testdata from the real server")

// TestConformance runs the scripts against the server of this package and compares
// the transcripts with those of a real one, which are in testdata.
func TestConformance(t *testing.T) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			if *update {
				t.Skip("would compare with old transcripts")
			}
			s := coordtest.NewServer(t)
			w := newWorld(t, s.Dial, "/"+name)
			script(w)
			compare(t, name, w.log.String())
		})
	}
}

// TestConformanceReal shows that testdata is what the real server does.
func TestConformanceReal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real server")
	}
	addr := ensemble.New(t, nil).Servers()[0]
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, dial, "/"+name)
			script(w)
			if *update {
				must(t, os.MkdirAll("testdata", 0o777))
				must(t, os.WriteFile(transcript(name), []byte(w.log.String()), 0o666))
				return
			}
			compare(t, name, w.log.String())
		})
	}
}

func transcript(name string) string { return filepath.Join("testdata", name+".txt") }

func compare(t *testing.T, name, got string) {
	t.Helper()
	b, err := os.ReadFile(transcript(name))
	must(t, err)
	want := strings.Split(string(b), "\n")
	for i, line := range strings.Split(got, "\n") {
		switch {
		case i >= len(want):
			t.Errorf("line %d:\n got %s", i+1, line)
		case line != want[i]:
			t.Errorf("line %d:\n got %s\nwant %s", i+1, line, want[i])
		}
	}
	if n := strings.Count(got, "\n") + 1; n < len(want) {
		t.Errorf("only %d of %d lines", n, len(want))
	}
}

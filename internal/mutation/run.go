package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A verdict is what became of one mutant.
type verdict struct {
	end       end
	pkg, test string        // what has caught it; empty if nothing has
	took      time.Duration // for how long tests ran, and not how long it took to build them
}

// A runner runs tests with mutants.
type runner struct {
	root  string             // the directory of the module
	limit time.Duration      // for the tests of one package
	last  map[string]verdict // what became of mutants the last time, by id
}

// maxMemory is the most that tests may take, in bytes: a mutant may never stop to ask for more.
const maxMemory = 4 << 30

const (
	// exhaustive are the tests that take longest. They go last.
	exhaustive = `^Test(Walk|[A-Za-z]*Faults)$`
	// never are tests that are not run: they put flaws of their own into the machines that
	// they walk through, and find out about those.
	never = `^TestWalkFindsFaults$`
)

// run finds out which test catches m.
func (r *runner) run(ctx context.Context, m mutant) (verdict, error) {
	dir, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return verdict{}, err
	}
	defer os.RemoveAll(dir)
	t := &trial{runner: r, dir: dir}
	if err := t.prepare(m); err != nil {
		return verdict{}, err
	}
	if last := r.last[m.id()]; last.end != passed && last.end != leaked {
		test, _, _ := strings.Cut(last.test, "/")
		if v, err := t.try(ctx, last.pkg, "^"+test+"$", never); err != nil || v.end != passed {
			return v, err
		}
	}
	var spent time.Duration
	for _, which := range []struct{ only, not string }{{"", exhaustive + "|" + never}, {exhaustive, never}} {
		for _, pkg := range m.suites() {
			v, err := t.try(ctx, pkg, which.only, which.not)
			spent += v.took
			if v.took = spent; err != nil || v.end != passed {
				return v, err
			}
		}
	}
	return verdict{end: passed, took: spent}, nil
}

// A trial is what is built for one mutant.
type trial struct {
	*runner
	dir string // for all that is built
}

// overlay is the name of the file in dir that tells the go command of the changed file.
const overlay = "overlay.json"

// prepare writes the changed file, and the overlay that names it.
func (t *trial) prepare(m mutant) error {
	original := filepath.Join(t.root, filepath.FromSlash(m.file))
	text, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return err
	}
	instead := filepath.Join(t.dir, "mutant.go")
	if err := os.WriteFile(instead, []byte(changed), 0o666); err != nil {
		return err
	}
	o, err := json.Marshal(map[string]map[string]string{"Replace": {original: instead}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.dir, overlay), o, 0o666)
}

// try runs the tests of pkg whose names match only, which may be empty, and do not match
// not, until one fails.
func (t *trial) try(ctx context.Context, pkg, only, not string) (verdict, error) {
	bin := filepath.Join(t.dir, strings.ReplaceAll(pkg, "/", "-")+".test")
	if _, err := os.Stat(bin); errors.Is(err, os.ErrNotExist) {
		if err := t.build(ctx, pkg, bin); err != nil {
			return verdict{}, err
		}
		if _, err := os.Stat(bin); errors.Is(err, os.ErrNotExist) {
			return verdict{}, nil // it has no tests
		}
	}
	cmd := exec.CommandContext(ctx, bin, "-test.v=test2json", "-test.failfast", "-test.run="+only, "-test.skip="+not, "-test.timeout="+t.limit.String())
	cmd.Dir = filepath.Join(t.root, filepath.FromSlash(pkg))
	cmd.Env = inBubbles()
	began := time.Now()
	e, test, err := watched(ctx, cmd)
	if err != nil {
		return verdict{}, fmt.Errorf("tests of %s: %w", pkg, err)
	}
	v := verdict{end: e, test: test, took: time.Since(began)}
	if e != passed {
		v.pkg = pkg
	}
	return v, nil
}

// build builds the tests of pkg with the mutant.
func (t *trial) build(ctx context.Context, pkg, bin string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-overlay", filepath.Join(t.dir, overlay), "-o", bin, "./"+pkg)
	cmd.Dir = t.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the tests of %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// inBubbles returns the environment in which only tests in bubbles are run: there is no
// real server to be found. Each connection of go-zookeeper allocates 3 MB, most of what
// there is to collect.
func inBubbles() []string {
	return append(os.Environ(), "ZOOKEEPER_JARS=/nonexistent", "ZOOKEEPER_HOME=", "REQUIRE_ZOOKEEPER=", "ZKCOORD_STRESS=", "GOGC=400")
}

// watched runs cmd, a test binary, until a test has failed, and returns how the tests have
// ended.
func watched(ctx context.Context, cmd *exec.Cmd) (end, string, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return 0, "", err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	in.Close()
	if err != nil {
		return 0, "", err
	}
	over := make(chan struct{})
	guarded := make(chan struct{})
	go func() {
		defer close(guarded)
		guard(cmd.Process, over)
	}()
	var said output
	for lines := bufio.NewReader(out); said.failed == "" || said.hung; {
		text, err := lines.ReadString('\n')
		said.line(strings.TrimRight(text, "\r\n"))
		if err != nil {
			break
		}
	}
	if said.failed != "" {
		_ = cmd.Process.Kill() // it may be over by now
	}
	err = cmd.Wait()
	close(over)
	<-guarded
	if ctx.Err() != nil {
		return 0, "", context.Cause(ctx)
	}
	e, test := said.end(err == nil)
	return e, test, nil
}

// guard kills p if that takes too much memory before over is closed. It can do so only
// where there is a /proc.
func guard(p *os.Process, over <-chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		var size, resident int64 // in pages
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Pid))
		if _, bad := fmt.Sscan(string(text), &size, &resident); err != nil || bad != nil {
			continue
		}
		if resident*int64(os.Getpagesize()) > maxMemory {
			_ = p.Kill()
		}
	}
}

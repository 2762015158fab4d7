package run

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/bench/internal/report"
)

// machine returns results that know where they are made.
func machine() *report.Results {
	return &report.Results{
		Begun:   time.Now(),
		CPUs:    runtime.NumCPU(),
		Machine: fmt.Sprintf("%s, %d CPUs, Linux %s, %s", model(), runtime.NumCPU(), output("uname", "-r"), runtime.Version()),
		Commit:  commit(),
	}
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func commit() string {
	c := output("git", "rev-parse", "--short=12", "HEAD")
	if output("git", "status", "--porcelain", "--untracked-files=no") != "" {
		c += ", with changes that are not committed"
	}
	return c
}

// model names the processor.
func model() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// load returns the load average of the last minute.
func load() (average float64) {
	text, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(text), &average)
	return average
}

// version returns that of a module that this program is built with.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	return "of unknown version"
}

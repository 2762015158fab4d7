// Package foreign has the clients in other languages: Curator's in Java and kazoo's in
// Python. They speak the protocol of package client, with as many of its workloads as
// they have anything for.
package foreign

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

//go:embed CuratorClient.java
var curatorSource []byte

//go:embed kazoo_client.py
var kazooSource []byte

// A Client is a program that can be run.
type Client struct {
	Name    string   // with its version
	Command []string // before the flags
}

// jars is where Debian's packages put them.
const jars = "/usr/share/java"

// Curator compiles the client into dir. The error says what is missing.
func Curator(ctx context.Context, dir string) (Client, error) {
	found, _ := filepath.Glob(filepath.Join(jars, "curator-recipes-*.jar"))
	if len(found) == 0 {
		return Client{}, fmt.Errorf("no %s/curator-recipes-*.jar", jars)
	}
	version := regexp.MustCompile(`[0-9][0-9.]*[0-9]`).FindString(filepath.Base(found[0]))
	// The manifest of the jar names all it needs but a logger.
	classpath := strings.Join([]string{dir, found[0], filepath.Join(jars, "slf4j-nop.jar")}, ":")
	source := filepath.Join(dir, "CuratorClient.java")
	if err := os.WriteFile(source, curatorSource, 0o644); err != nil {
		return Client{}, err
	}
	compile := exec.CommandContext(ctx, "javac", "-nowarn", "-d", dir, "-cp", classpath, source)
	if out, err := compile.CombinedOutput(); err != nil {
		return Client{}, fmt.Errorf("javac: %w: %s", err, out)
	}
	return Client{"Curator " + version, []string{"java", "-Xmx2g", "-XX:-UsePerfData", "-cp", classpath, "CuratorClient"}}, nil
}

// Kazoo finds a Python that has kazoo, and puts the client into dir. The error says
// what is missing.
func Kazoo(ctx context.Context, dir string) (Client, error) {
	source := filepath.Join(dir, "kazoo_client.py")
	if err := os.WriteFile(source, kazooSource, 0o644); err != nil {
		return Client{}, err
	}
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		version, err := exec.CommandContext(ctx, python, "-c", "import kazoo.version; print(kazoo.version.__version__)").Output()
		cancel()
		if err == nil {
			return Client{"kazoo " + strings.TrimSpace(string(version)), []string{python, source}}, nil
		}
	}
	return Client{}, fmt.Errorf("no python3 that has kazoo")
}

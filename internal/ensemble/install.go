package ensemble

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// installation is what it takes to run a server.
type installation struct {
	java      string // the command
	classpath string
}

// Available returns nil if a server can be started on this machine, else an
// error that says what is missing. The script .ci/zookeeper looks at the same
// things.
func Available() error {
	_, err := find()
	return err
}

// Separable returns nil if servers can be put into network namespaces, else an
// error that says why not. The script .ci/zookeeper tries the same things.
func Separable() error {
	for _, command := range []string{"ip", "iptables", "nsenter", "unshare"} {
		if _, err := exec.LookPath(command); err != nil {
			return fmt.Errorf("servers cannot be isolated: %w", err)
		}
	}
	// What it takes of rights, and of the kernel.
	out, err := exec.Command("unshare", "--net", "iptables", "--wait", "-A", "OUTPUT", "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset").CombinedOutput()
	if err != nil {
		return fmt.Errorf("servers cannot be isolated: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// find looks afresh at each call: it costs a few stats, and a test can change
// the environment.
func find() (installation, error) {
	if !supported {
		return installation{}, fmt.Errorf("servers are started on Linux only")
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return installation{}, fmt.Errorf("no java: %w", err)
	}
	if home := os.Getenv("ZOOKEEPER_HOME"); home != "" {
		lib := filepath.Join(home, "lib")
		if jars, _ := filepath.Glob(filepath.Join(lib, "zookeeper-*.jar")); len(jars) == 0 {
			return installation{}, fmt.Errorf("no zookeeper-*.jar in %s, and ZOOKEEPER_HOME is set", lib)
		}
		return installation{java, filepath.Join(lib, "*")}, nil
	}
	dir := cmp.Or(os.Getenv("ZOOKEEPER_JARS"), "/usr/share/java")
	jar := filepath.Join(dir, "zookeeper.jar")
	if _, err := os.Stat(jar); err != nil {
		return installation{}, fmt.Errorf("no ZooKeeper: %w", err)
	}
	// The manifest of Debian's zookeeper.jar names all it needs but a logger, and
	// a part of what it takes to serve over TLS. Without a logger a server dies
	// silently.
	return installation{java, jar + ":" + filepath.Join(dir, "slf4j-simple.jar") + ":" + filepath.Join(dir, "netty-codec.jar")}, nil
}

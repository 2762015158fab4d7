package ensemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Node is one server. Its address and its data stay the same for its life,
// through any number of kills and restarts. Its methods may be called at any
// time and from several goroutines.
type Node struct {
	addr   string
	secure string   // "" without Options.Secure
	dir    string   // configuration, data and, unless it is kept, the log
	logs   string   // what the names of the logs that are kept begin with; "" without Options.Logs
	java   []string // the command line

	mu     sync.Mutex
	proc   *Process // nil before the first Launch
	frozen bool
	lives  int // how often it was launched
}

// Addr returns the address for clients, host:port.
func (n *Node) Addr() string { return n.addr }

// SecureAddr returns the address for clients that speak TLS, host:port.
func (n *Node) SecureAddr() string { return n.secure }

// Pid returns the process id of the server's present or last life.
func (n *Node) Pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc.Pid()
}

// Launch starts the server's process if it does not run, and does not wait
// until it serves: one of three cannot while it is alone. See
// [Ensemble.WaitServing].
func (n *Node) Launch() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc != nil && !n.proc.ended() {
		return nil
	}
	n.lives++
	log, err := os.Create(n.logFile()) // of this life only
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	cmd := exec.Command(n.java[0], n.java[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, log, log
	p, err := StartProcess(cmd)
	if err != nil {
		return err
	}
	n.proc, n.frozen = p, false
	return nil
}

// Kill ends the server with SIGKILL and returns when it is gone. Clients see
// their connections closed by the kernel.
func (n *Node) Kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc != nil {
		n.proc.Kill()
	}
}

// Freeze stops the server with SIGSTOP and returns when it has stopped. Its
// connections stay open, and the kernel accepts new ones, but nobody answers.
func (n *Node) Freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc != nil && !n.frozen {
		n.proc.Freeze()
		n.frozen = true
	}
}

// Thaw lets a frozen server go on. It then works off what has piled up.
func (n *Node) Thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc != nil {
		n.proc.Thaw()
		n.frozen = false
	}
}

// Wipe kills the server if it runs and deletes its data. When it is launched again, it
// takes all of them from the leader. That is safe only if the others have them: a
// majority of the servers, without this one.
func (n *Node) Wipe() error {
	n.Kill()
	return os.RemoveAll(filepath.Join(n.dir, "version-2"))
}

// running tells whether the server is neither killed nor frozen.
func (n *Node) running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc != nil && !n.proc.ended() && !n.frozen
}

// Restart kills the server if it runs, starts it and waits until it serves. If
// ctx ends first, the server is left starting.
func (n *Node) Restart(ctx context.Context) error {
	n.Kill()
	if err := n.Launch(); err != nil {
		return err
	}
	return n.waitServing(ctx)
}

// Command asks the server a four-letter word, such as "mntr", "cons" or "wchp",
// and returns the answer. It fails if there is none in two seconds.
func (n *Node) Command(word string) (string, error) { return n.ask(word, 2*time.Second) }

func (n *Node) ask(word string, timeout time.Duration) (string, error) {
	c, err := net.DialTimeout("tcp", n.addr, timeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(timeout))
	if _, err := io.WriteString(c, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	return string(answer), err
}

// mode returns what the server says it is, and the last transaction it knows;
// "" if it does not serve.
func (n *Node) mode(timeout time.Duration) (mode string, zxid uint64) {
	answer, err := n.ask("srvr", timeout)
	if err != nil {
		return "", 0
	}
	for line := range strings.Lines(answer) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Mode":
			mode = value
		case "Zxid":
			zxid, _ = strconv.ParseUint(value, 0, 64)
		}
	}
	return mode, zxid
}

// errPortTaken is the failure of a start that another port may cure.
var errPortTaken = errors.New("port taken by another process")

// waitServing waits until the server answers clients.
func (n *Node) waitServing(ctx context.Context) error {
	n.mu.Lock()
	p, logFile := n.proc, n.logFile()
	n.mu.Unlock()
	// A server asked in the first moments of its life may fail to close the
	// connection, so an early question must not wait long for its answer.
	const patience = 300 * time.Millisecond
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		if mode, _ := n.mode(patience); mode != "" {
			// On a port that was taken in the meantime another server answers.
			// The data directory proves that it is this one.
			if conf, err := n.ask("conf", patience); err == nil && strings.Contains(conf, n.dir+"/") && n.secured(conf) {
				return nil
			}
		}
		// First whether it has ended, then what it has logged, as it logs first.
		// Both, because a leader that cannot bind its port for followers does
		// not end: it calls the next election, forever.
		ended := p.ended()
		if log, _ := os.ReadFile(logFile); bytes.Contains(log, []byte("Address already in use")) {
			return fmt.Errorf("server %s: %w", n.addr, errPortTaken)
		}
		if ended {
			return fmt.Errorf("server %s ended (%v) with this log:\n%s", n.addr, p.err, logTail(logFile))
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return fmt.Errorf("server %s does not serve: %w; its log:\n%s", n.addr, context.Cause(ctx), logTail(logFile))
		case <-poll.C:
		}
	}
}

// secured reports whether the server, of which this is the configuration in use, has
// the port for TLS if it is to have one: it takes that after it has begun to serve.
func (n *Node) secured(conf string) bool {
	_, port, _ := net.SplitHostPort(n.secure)
	return port == "" || strings.Contains(conf, "secureClientPort="+port+"\n")
}

// logFile returns the log of the present or last life, and is called with n.mu held.
func (n *Node) logFile() string {
	if n.logs == "" {
		return filepath.Join(n.dir, "log")
	}
	return fmt.Sprintf("%s.%03d.log", n.logs, n.lives)
}

// logTail returns the end of what a server has printed.
func logTail(file string) string {
	log, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-4096):])
}

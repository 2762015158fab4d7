//go:build linux

package ensemble

// Require is what New and Shared begin with.
var Require = require

// Pid returns the process id of the server's present or last life.
func (n *Node) Pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc.cmd.Process.Pid
}

// Dir returns the directory with all that belongs to the ensemble.
func (e *Ensemble) Dir() string { return e.dir }

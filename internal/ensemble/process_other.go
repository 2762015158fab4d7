//go:build !linux

package ensemble

import (
	"errors"
	"os"
	"os/exec"
)

// Only Linux can tie the life of a child to that of its parent, and servers
// left behind by killed tests are worse than skipped tests.
const supported = false

// A Process is a child of this process.
type Process struct {
	done chan struct{}
	err  error
}

// StartProcess returns an error.
func StartProcess(*exec.Cmd) (*Process, error) { return nil, errors.ErrUnsupported }

// Pid returns 0.
func (p *Process) Pid() int { return 0 }

// Done returns a channel that is never closed.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns nil.
func (p *Process) Err() error { return p.err }

// Kill does nothing, as do the others.
func (p *Process) Kill() {}

func (p *Process) Freeze()     {}
func (p *Process) Thaw()       {}
func (p *Process) ended() bool { return true }

func newNamespace() (*os.File, error) { return nil, errors.ErrUnsupported }

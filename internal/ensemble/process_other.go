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

type process struct {
	done chan struct{}
	err  error
}

func startProcess(*exec.Cmd) (*process, error) { return nil, errors.ErrUnsupported }

func (p *process) pid() int    { return 0 }
func (p *process) ended() bool { return true }
func (p *process) kill()       {}
func (p *process) freeze()     {}
func (p *process) thaw()       {}

func newNamespace() (*os.File, error) { return nil, errors.ErrUnsupported }

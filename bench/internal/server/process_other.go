//go:build !linux

package server

import (
	"errors"
	"os/exec"
)

type Process struct {
	Done chan struct{}
	Err  error
}

func Start(*exec.Cmd) (*Process, error) { return nil, errors.ErrUnsupported }

func (p *Process) Kill() {}

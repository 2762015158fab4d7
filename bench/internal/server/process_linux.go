package server

import (
	"os/exec"
	"runtime"
	"syscall"
)

// A Process is a child that does not outlive this process.
type Process struct {
	Done chan struct{} // closed when it has ended
	Err  error         // why; set before Done is closed
	cmd  *exec.Cmd
}

// Start starts cmd, in a process group of its own: an interrupt from the terminal
// reaches it only through us.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p := &Process{Done: make(chan struct{}), cmd: cmd}
	started := make(chan error)
	go func() {
		defer close(p.Done)
		runtime.LockOSThread() // the signal is sent when the thread ends that forked
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.Err = cmd.Wait()
		}
	}()
	return p, <-started
}

// Kill ends the process and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only if it has ended
	<-p.Done
}

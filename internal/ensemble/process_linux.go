package ensemble

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

const supported = true

// A Process is a child, which cannot outlive this process. Its own goroutine starts it
// and waits for it. It may be killed, frozen and thawed at any time.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended and is reaped
	err  error         // why it ended; set before done is closed
}

// StartProcess starts cmd such that it dies with this process, however this
// process dies.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	// A group of its own, so that an interrupt from the terminal reaches it
	// only through us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.own(started)
	return p, <-started
}

// own is locked to its thread from before the fork until the child has ended,
// because the parent of Pdeathsig is the thread that forked: the child would
// be killed if that thread ended, as the thread of a goroutine does that ends
// without unlocking it. Thus locked, the thread ends only with this process.
func (p *Process) own(started chan<- error) {
	defer close(p.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.err = p.cmd.Wait()
	}
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns what [exec.Cmd.Wait] does, once the child has ended.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// ended tells whether the child has ended.
func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Kill ends the child with SIGKILL and returns when it has ended. It works on a frozen
// one too.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only for a child that has ended
	<-p.done
}

// Freeze stops the child with SIGSTOP. It returns when every thread of the child is
// stopped, or the child has ended; a SIGSTOP alone returns before.
func (p *Process) Freeze() {
	if p.cmd.Process.Signal(syscall.SIGSTOP) != nil {
		return
	}
	const (
		idPid   = 1 // P_PID of waitid(2): wait for the child with this process id
		stopped = 2 // WSTOPPED: until it has stopped; does not reap, so Wait still sees the end
	)
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idPid, uintptr(p.cmd.Process.Pid), 0, stopped, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// Thaw lets a frozen child go on.
func (p *Process) Thaw() {
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // fails only for a child that has ended
}

// newNamespace returns a new network namespace. It lasts while the file is open or
// a process is in it.
func newNamespace() (*os.File, error) {
	cmd := exec.Command("cat") // until the end of its input
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
	_ = input.Close()
	_ = cmd.Wait() // it has served its purpose
	return ns, err
}

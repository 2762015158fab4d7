package ensemble

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

const supported = true

// process is a running child. Its own goroutine starts it and waits for it.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended and is reaped
	err  error         // why it ended; set before done is closed
}

// startProcess starts cmd such that it dies with this process, however this
// process dies.
func startProcess(cmd *exec.Cmd) (*process, error) {
	// A group of its own, so that an interrupt from the terminal reaches it
	// only through us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.own(started)
	return p, <-started
}

// own is locked to its thread from before the fork until the child has ended,
// because the parent of Pdeathsig is the thread that forked: the child would
// be killed if that thread ended, as the thread of a goroutine does that ends
// without unlocking it. Thus locked, the thread ends only with this process.
func (p *process) own(started chan<- error) {
	defer close(p.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.err = p.cmd.Wait()
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// ended tells whether the child has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill returns when the child has ended. It works on a frozen one too.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only for a child that has ended
	<-p.done
}

// freeze returns when every thread of the child is stopped, or the child has
// ended. A SIGSTOP alone returns before.
func (p *process) freeze() {
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

// thaw lets a frozen child go on.
func (p *process) thaw() {
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

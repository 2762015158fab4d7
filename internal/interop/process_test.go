package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// A process has contenders of another client. They come over the loopback
// interface, each on a connection of its own, and do one thing after another.
type process struct {
	client string // what they are contenders of
	peers  []*peer
	cmd    *exec.Cmd
	done   chan struct{} // closed when it has ended
	err    error         // how; set before done is closed
}

// A peer is a contender of another client.
type peer struct {
	conn net.Conn
	in   *bufio.Reader
}

// launch starts the program argv, with the arguments that both programs take, and
// returns when count contenders have come. The process lives no longer than t or this
// process.
func launch(t *testing.T, client string, argv []string, count int) *process {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server := ensemble.Shared(t).Node(0).Addr()
	cmd := exec.Command(argv[0], append(argv[1:], server, l.Addr().String(), strconv.Itoa(count))...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe() // its end, also by our death, is the end of the process
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{client: client, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
		l.Close() // nobody will come any more
	}()
	t.Cleanup(func() {
		if t.Failed() {
			p.kill()
		}
		for _, peer := range p.peers {
			peer.conn.Close()
		}
		timer := time.AfterFunc(patience, p.kill)
		<-p.done
		timer.Stop()
		stdin.Close()
		if p.err != nil {
			t.Errorf("the contenders of %s end with %v: %s", client, p.err, &stderr)
		}
	})
	for range count {
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		p.peers = append(p.peers, &peer{conn, bufio.NewReader(conn)})
	}
	return p
}

// run runs f as a subtest, after which the contenders must be idle. If one has failed,
// they may not be, and no other is run.
func (p *process) run(t *testing.T, name string, f func(x *contest)) {
	if !t.Failed() {
		t.Run(name, func(t *testing.T) { f(newContest(t)) })
	}
}

// kill ends the process, and with it all that its contenders wait for.
func (p *process) kill() { _ = p.cmd.Process.Kill() }

// hear returns the next line.
func (p *peer) hear() (string, error) {
	line, err := p.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// say sends a line.
func (p *peer) say(words ...any) {
	_, _ = fmt.Fprintln(p.conn, words...) // the next hear says if the peer is gone
}

// hears ends the test unless the next line is the one wanted.
func (x *contest) hears(p *peer, want string) {
	x.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	got, err := p.hear()
	if err != nil || got != want {
		x.Fatalf("a contender says %q, %v; want %q", got, err, want)
	}
	_ = p.conn.SetReadDeadline(time.Time{})
}

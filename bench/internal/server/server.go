package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/zkcoord/zkcoord/internal/ensemble"
)

// A Server runs on loopback, with its data in a temporary directory.
type Server struct {
	Name    string // with its version
	Addr    string // host:port
	Pid     int
	stop    func()
	packets func(addr string) (in, out float64, err error)
}

// Stop ends the server and removes its data.
func (s *Server) Stop() { s.stop() }

// ZooKeeper starts a standalone ZooKeeper. Unlike those of tests it is to be fast in
// the long run.
func ZooKeeper(ctx context.Context) (*Server, error) {
	e, err := ensemble.Start(ctx, &ensemble.Options{
		JVM: []string{"-Xms1g", "-Xmx1g", "-XX:-UseSerialGC", "-XX:TieredStopAtLevel=4"},
	})
	if err != nil {
		return nil, err
	}
	n := e.Node(0)
	name := "ZooKeeper"
	if answer, err := n.Command("srvr"); err == nil {
		if version := regexp.MustCompile(`version: ([0-9.]+)`).FindStringSubmatch(answer); version != nil {
			name += " " + version[1]
		}
	}
	return &Server{name, n.Addr(), n.Pid(), e.Stop, mntr}, nil
}

// Etcd starts a single etcd.
func Etcd(ctx context.Context) (*Server, error) {
	name, err := EtcdVersion()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "etcd-")
	if err != nil {
		return nil, err
	}
	client, err := freePort()
	if err != nil {
		return nil, err
	}
	peer, err := freePort()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	cmd := exec.Command("etcd", "--name", "bench", "--data-dir", filepath.Join(dir, "data"),
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer,
		"--initial-cluster", "bench=http://"+peer, "--logger", "zap", "--log-level", "error")
	cmd.Stdout, cmd.Stderr = log, log
	p, err := Start(cmd)
	if err != nil {
		return nil, err
	}
	s := &Server{name, client, cmd.Process.Pid, func() {
		p.Kill()
		_ = os.RemoveAll(dir)
	}, grpcMessages}
	for {
		if _, _, err := s.packets(client); err == nil {
			return s, nil
		}
		select {
		case <-p.Done:
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
			continue
		}
		text, _ := os.ReadFile(log.Name())
		s.Stop()
		return nil, fmt.Errorf("etcd does not serve: %v; its log:\n%s", ctx.Err(), text)
	}
}

// EtcdVersion names the etcd of $PATH; the error says that there is none.
func EtcdVersion() (string, error) {
	out, err := exec.Command("etcd", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("no etcd: %w", err)
	}
	name := "etcd"
	if version := regexp.MustCompile(`etcd Version: ([0-9.]+)`).FindSubmatch(out); version != nil {
		name += " " + string(version[1])
	}
	return name, nil
}

// freePort returns an address of loopback on which nobody listens.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(l.Addr().(*net.TCPAddr).Port)), nil
}

package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Counter is the name of something that is counted.
type Counter string

const (
	ClientCPU Counter = "client_cpu" // microseconds
	ServerCPU Counter = "server_cpu" // microseconds
	Requests  Counter = "requests"   // that the server has received
	Answers   Counter = "answers"    // and events, that the server has sent
	BytesIn   Counter = "bytes_in"   // that the server has received on connections that are open
	BytesOut  Counter = "bytes_out"  // that it has sent on them
	Disk      Counter = "disk"       // bytes that the server has caused to be written
)

// A Reading is what was counted until a moment. What cannot be read is missing.
type Reading struct {
	Counters map[Counter]Count
	RSS      float64 // of the client, in KB
}

// A Count is the state of a counter at a time.
type Count struct {
	N  float64
	At time.Time
}

// Read reads the counters of s and of the client process.
func (s *Server) Read(client int) Reading {
	r := Reading{Counters: make(map[Counter]Count)}
	put := func(c Counter, n float64, err error) {
		if err == nil {
			r.Counters[c] = Count{n, time.Now()}
		}
	}
	cpu, err := processCPU(client)
	put(ClientCPU, cpu, err)
	cpu, err = processCPU(s.Pid)
	put(ServerCPU, cpu, err)
	disk, err := field(fmt.Sprintf("/proc/%d/io", s.Pid), "write_bytes:")
	put(Disk, disk, err)
	in, out, err := s.packets(s.Addr)
	put(Requests, in, err)
	put(Answers, out, err)
	in, out, err = tcpBytes(s.Addr)
	put(BytesIn, in, err)
	put(BytesOut, out, err)
	r.RSS, _ = field(fmt.Sprintf("/proc/%d/status", client), "VmRSS:")
	return r
}

// asks counts how often mntr has been asked, for the server counts that too.
var asks float64

// mntr asks a ZooKeeper for its packets.
func mntr(addr string) (in, out float64, err error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, "mntr"); err != nil {
		return 0, 0, err
	}
	text, err := io.ReadAll(c)
	if err != nil {
		return 0, 0, err
	}
	asks++
	in, _ = number(string(text), "zk_packets_received")
	out, err = number(string(text), "zk_packets_sent")
	return in - asks, out, err
}

// grpcMessages asks an etcd for its packets.
func grpcMessages(addr string) (in, out float64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		n, _ := strconv.ParseFloat(value, 64)
		switch {
		case strings.HasPrefix(name, "grpc_server_msg_received_total{"):
			in += n
		case strings.HasPrefix(name, "grpc_server_msg_sent_total{"):
			out += n
		}
	}
	return in, out, lines.Err()
}

var socketBytes = regexp.MustCompile(`bytes_(sent|received):(\d+)`)

// tcpBytes sums what the kernel has counted on the server's side of its connections.
// What connections that are closed have carried is gone from it.
func tcpBytes(addr string) (in, out float64, err error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, 0, err
	}
	text, err := exec.Command("ss", "-tinH", "state", "established", "sport = :"+port).Output()
	for _, m := range socketBytes.FindAllSubmatch(text, -1) {
		n, _ := strconv.ParseFloat(string(m[2]), 64)
		if m[1][0] == 's' {
			out += n
		} else {
			in += n
		}
	}
	return in, out, err
}

// ticks is how many of the kernel's ticks make a second, on all that Go runs on.
const ticks = 100

// processCPU returns the microseconds for which a process has run.
func processCPU(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("process %d: %q", pid, text)
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, err := strconv.ParseFloat(f[12], 64)
	return (user + system) * 1e6 / ticks, err
}

// MachineCPU returns the microseconds for which all CPUs together have been busy.
func MachineCPU() (float64, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	f := strings.Fields(line) // cpu user nice system idle iowait irq softirq ...
	var busy float64
	for i, s := range f {
		if i == 0 || i == 4 || i == 5 || i > 7 {
			continue
		}
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return 0, err
		}
		busy += n
	}
	return busy * 1e6 / ticks, nil
}

// field returns the number behind name in a file.
func field(file, name string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return number(string(text), name)
}

// number returns the number behind name at the start of a line.
func number(text, name string) (float64, error) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			return strconv.ParseFloat(f[1], 64)
		}
	}
	return 0, fmt.Errorf("no %s in %q", name, text)
}

// CPU returns the microseconds for which some processes have run, together.
func CPU(pids ...int) (sum float64) {
	for _, pid := range pids {
		one, _ := processCPU(pid) // of one that has ended nothing is known
		sum += one
	}
	return sum
}

package ensemble

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// blkio is where the kernel's first form of control groups for block devices is mounted,
// if it is.
const blkio = "/sys/fs/cgroup/blkio"

// SlowDisk lets n, which must run, write to its disk only a few times a second until heal is
// called, or n ends. It takes root and the first form of control groups.
func (e *Ensemble) SlowDisk(n *Node) (heal func(), err error) {
	disk, err := diskOf(n.dir)
	if err != nil {
		return nil, err
	}
	ours, err := ownGroup()
	if err != nil {
		return nil, err
	}
	group := filepath.Join(ours, fmt.Sprintf("zkcoord-%d-%d", os.Getpid(), n.Pid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		return nil, err
	}
	heal = sync.OnceFunc(func() {
		// A process that has ended is in no group.
		_ = os.WriteFile(filepath.Join(ours, "cgroup.procs"), []byte(strconv.Itoa(n.Pid())), 0)
		_ = os.Remove(group)
	})
	for _, set := range []struct{ file, text string }{
		{"blkio.throttle.write_iops_device", disk + " 10"},
		{"cgroup.procs", strconv.Itoa(n.Pid())},
	} {
		if err := os.WriteFile(filepath.Join(group, set.file), []byte(set.text), 0); err != nil {
			heal()
			return nil, err
		}
	}
	return heal, nil
}

// diskOf returns the number, as "254:0", of the disk that a file is on.
func diskOf(file string) (string, error) {
	var stat syscall.Stat_t
	if err := syscall.Stat(file, &stat); err != nil {
		return "", err
	}
	dev := uint64(stat.Dev)
	number := fmt.Sprintf("%d:%d", dev>>8&0xfff, dev&0xff|dev>>12&0xfff00)
	device, err := filepath.EvalSymlinks("/sys/dev/block/" + number)
	if err != nil {
		return "", fmt.Errorf("%s is on no disk: %w", file, err)
	}
	if _, err := os.Stat(filepath.Join(device, "partition")); err == nil {
		device = filepath.Dir(device)
	}
	text, err := os.ReadFile(filepath.Join(device, "dev"))
	return string(bytes.TrimSpace(text)), err
}

// ownGroup returns the directory of the control group for block devices that this process
// is in.
func ownGroup() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		// Its number, its controllers, its path.
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 && parts[1] == "blkio" {
			return blkio + parts[2], nil
		}
	}
	return "", fmt.Errorf("no control groups for block devices")
}

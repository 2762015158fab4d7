package coord

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

const sleptEnv = "COORD_TEST_SLEPT"

// The clock that counts sleep is asked: in a time namespace in which it is an hour
// ahead the machine has slept an hour more.
func TestSleptAsksTheKernel(t *testing.T) {
	if os.Getenv(sleptEnv) != "" {
		os.Stdout.WriteString("slept " + strconv.FormatInt(int64(slept()), 10) + "\n")
		return
	}
	const ahead = time.Hour
	cmd := exec.Command("unshare", "--time", "--boottime", strconv.Itoa(int(ahead/time.Second)), "--fork",
		os.Args[0], "-test.run=^TestSleptAsksTheKernel$", "-test.v")
	cmd.Env = append(os.Environ(), sleptEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("needs the right to make a time namespace: %v: %s", err, out)
	}
	_, text, _ := strings.Cut(string(out), "slept ")
	text, _, _ = strings.Cut(text, "\n")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("the child says %s", out)
	}
	if d := time.Duration(n) - slept() - ahead; d < -time.Second || d > time.Second {
		t.Errorf("slept %v there and %v here", time.Duration(n), slept())
	}
}

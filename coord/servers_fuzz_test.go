package coord_test

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// FuzzParseServers: what is taken for a connect string is servers with a port each and a
// valid chroot, and is the same when it is put together again; everything else is refused
// in words that are fit to print.
func FuzzParseServers(f *testing.F) {
	for _, s := range []string{
		"", "zk1", "zk1:2181,zk2:2182/app", "[::1]:2181", "::1", "[::1", "a:b", "a:0", "a:65536", ",,", "a, b", "/app", "a//b", "a/b/../c", "a:2181:2181", "[a]", "[]:1", "\x00", "é:1/日本", "fe80::1%eth0", "\u202ea",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, connect string) {
		servers, chroot, err := coord.ParseServers(connect)
		harness.Printable(t, err)
		if err != nil {
			if servers != nil || chroot != "" {
				t.Errorf("%q: %q and %q beside the error %v", connect, servers, chroot, err)
			}
			return
		}
		if len(servers) == 0 || chroot != "" && (chroot == "/" || zkpath.Check(chroot) != nil) {
			t.Errorf("%q: servers %q, chroot %q", connect, servers, chroot)
		}
		for _, s := range servers {
			host, port, err := net.SplitHostPort(s)
			if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 1 || n > 65535 || host == "" {
				t.Errorf("%q: server %q", connect, s)
			}
		}
		again, root, err := coord.ParseServers(strings.Join(servers, ",") + chroot)
		if err != nil || strings.Join(again, ",") != strings.Join(servers, ",") || root != chroot {
			t.Errorf("%q: servers %q, chroot %q, and of that %q, %q, %v", connect, servers, chroot, again, root, err)
		}
	})
}

// FuzzSessionID: an ID is read as it is written, and nothing else is read.
func FuzzSessionID(f *testing.F) {
	for _, s := range []string{"", "0x0", "0xffffffffffffffff", "0x10000000000000000", "-1", "017", "0b1", "1_0", "0x_1"} {
		f.Add(s, int64(len(s))<<60)
	}
	f.Fuzz(func(t *testing.T, text string, n int64) {
		var id coord.SessionID
		harness.Printable(t, id.UnmarshalText([]byte(text)))
		said, err := coord.SessionID(n).MarshalText()
		if err != nil || id.UnmarshalText(said) != nil || id != coord.SessionID(n) {
			t.Errorf("%#x is written as %q, %v, and that is read as %v", uint64(n), said, err, id)
		}
	})
}

// Package ensemble starts real ZooKeeper servers for tests: one standalone or
// an ensemble of three or five, as child processes on free loopback ports, with
// their data in a temporary directory. A test can kill, freeze, thaw and restart
// each of them, wipe its data, isolate one from the others, but not from its
// clients, and cut or slow down any link between them.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(ensemble.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		e := ensemble.New(t, &ensemble.Options{Nodes: 3})
//		conn, _, err := zk.Connect(e.Servers(), time.Second)
//		...
//		e.Leader().Kill()
//	}
//
// # What is run
//
// The ZooKeeper below $ZOOKEEPER_HOME, if that is set: an unpacked release.
// Else the one of Debian's package, from $ZOOKEEPER_JARS, by default
// /usr/share/java. And the java of $PATH. Where one of these is missing, New
// and Shared skip the test, or fail it if $REQUIRE_ZOOKEEPER is not empty.
//
// Servers that can be isolated run in network namespaces, which takes root, ip of
// iproute2, iptables, and nsenter and unshare of util-linux. Where these are missing
// it is the same. Their addresses are of 198.18.0.0/15, which is set apart for
// tests of networks, or of 10.213.0.0/16 if that is in use; nothing of the machine's own network is changed but for one
// more link.
//
// # Time
//
// Measured with ZooKeeper 3.8.0 and Java 17 on two cores: one server serves
// 0.25 s after its start or restart, an ensemble of three 0.95 s after its
// start, of which 0.3 s are Java's and the rest is the election. A restarted
// follower serves after 0.3 s. The others have a new leader 0.25 s after the
// old one was killed; if it was frozen, they first wait for syncLimit, 5 ticks:
// a test that freezes a leader should shorten Tick. If it is isolated by Reset,
// they have a new leader after 1 to 3 s, and the old one goes on for 10 s or more.
//
// # Lifetime
//
// No server outlives the process that started it, however that one ends, even
// by a panic or by SIGKILL: the kernel then kills the server, and removes the
// namespaces. What stays behind in such a case is the temporary directory.
package ensemble

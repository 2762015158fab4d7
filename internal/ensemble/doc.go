// Package ensemble starts real ZooKeeper servers for tests: one standalone or
// an ensemble of three, as child processes on free loopback ports, with their
// data in a temporary directory. A test can kill, freeze, thaw and restart each
// of them.
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
// # Time
//
// Measured with ZooKeeper 3.8.0 and Java 17 on two cores: one server serves
// 0.25 s after its start or restart, an ensemble of three 0.95 s after its
// start, of which 0.3 s are Java's and the rest is the election. A restarted
// follower serves after 0.3 s. The others have a new leader 0.25 s after the
// old one was killed; if it was frozen, they first wait for syncLimit, 5 ticks:
// a test that freezes a leader should shorten Tick.
//
// # Lifetime
//
// No server outlives the process that started it, however that one ends, be it
// by a panic or by SIGKILL: the kernel then kills the server. What stays behind
// in such a case is the temporary directory.
package ensemble

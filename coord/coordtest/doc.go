// Package coordtest is a ZooKeeper server for tests, within the test's process
// and in pure Go, and lines to it that break on demand.
//
//	func TestFailover(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			s := coordtest.NewServer(t)
//			a, b := s.Client(t, nil), s.Client(t, nil)
//			...
//			heal := s.LinkOf(a).Cut() // a is cut off; in a bubble its session expires in no time
//			...
//			heal()
//		})
//	}
//
// # The server
//
// A [Server] speaks ZooKeeper's protocol, to any client, as a standalone server
// 3.8.0 with its default configuration and tickTime=2000 does: znodes of all kinds but
// those with a TTL, versions, Stat fields, multi, ACLs with digest and ip,
// watches of all modes, sessions that expire on ticks and can be resumed. The
// package's tests run the same scripts on both and compare what clients see,
// down to the zxids.
//
// It does not do what needs disk or administration, nor multiRead, getEphemerals, whoAmI
// and other later additions that Go clients do not use: it answers that they are
// unimplemented. It lists children in order, and knows no four-letter words.
//
// # The ensemble
//
// A Server can be an ensemble, too. Its servers have the addresses that clients dial,
// whatever these are, and all of them are current until one is set apart:
//
//	a, b := s.Client(t, nil, "one:2181"), s.Client(t, nil) // a knows no other server
//	heal := s.Lag("one:2181")        // a follower does later what the leader does
//	heal := s.Isolate("one:2181")    // the leader loses the others, not its clients, and does not know
//	heal := s.Leaderless()           // nobody leads, until the election
//
// Several servers can lag at once, each from another moment on, beside a leader that is
// isolated, and through elections. What a server that lags and what an isolated leader
// answers is compared with real servers, too: they are brought into the same state, and the
// same script runs on both.
//
// The ensemble is simpler than a real one in this: Followers that do not lag are current
// at every moment. Servers tell the leader at once which sessions they hear, and not each half
// tick. What the leader has begun all servers do: no election undoes anything, and what no
// quorum has done never comes back. No server dies alone: to its clients that would be a
// connection that ends, which a Link can do; and Freeze stops all of them. A server does not
// hang up on a silent client before the session ends. There are no observers, no local
// sessions and no servers that only answer reads.
//
// # Runs that repeat
//
// In a bubble one thing depends on the order in which the server's own goroutines run: of
// requests that arrive at one instant on several connections, any may be the first.
// [Server.Ordered] fixes that, too.
//
// # The link
//
// A [Link] forwards connections frame by frame. It can stall, cut and reset
// them, and lose any single request, reply or event:
//
//	l.OnFrame(func(f coordtest.Frame) coordtest.Action {
//		if f.Dir == coordtest.ToClient && f.Op == "create" {
//			return coordtest.HangUp // the node is there, but its maker does not know
//		}
//		return coordtest.Pass
//	})
//
// A Link works in front of a real server just as well: see [NewLink].
//
// # Bubbles
//
// In memory, server and link use no sockets and wait only for channels, pipes
// and timers, so both can be used in a [testing/synctest] bubble: made in it, and closed
// in it, as the tb of NewServer and Client sees to. There, a dial refused
// by a cut link or a closed server takes no time at all; a client that tries
// again without a pause keeps the bubble's time from advancing.
package coordtest

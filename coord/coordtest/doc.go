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
// It does not do what needs disk or administration, nor, but for one fault, what
// needs an ensemble, nor multiRead, getEphemerals, whoAmI and
// other later additions that Go clients do not use: it answers that they are
// unimplemented. It lists children in order, and knows no four-letter words.
//
// # An isolated leader
//
// The fault is that of a leader which is cut off from the other servers, not from its
// clients, and does not know. It goes on answering heartbeats, reads and syncs, while
// the others have elected a new one and end the sessions that they do not hear:
//
//	a, b := s.Client(t, nil, "leader:2181"), s.Client(t, nil) // a knows no other server
//	heal := s.Isolate("leader:2181")
//
// What the old leader answers is compared with real servers, too.
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

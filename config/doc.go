// Package config keeps typed configuration in ZooKeeper. Programs follow it, and
// change it safely.
//
//	limits := config.Watch(ctx, c, "/app/limits", config.JSON[Limits])
//	for {
//		select {
//		case u := <-limits.Updates():
//			if u.Err != nil {
//				log.Print(u.Err) // what is there now is no good
//			}
//			if u.Mzxid != 0 {
//				apply(u.Value) // the last that was
//			}
//		case <-limits.Done():
//			return limits.Err()
//		}
//	}
//
// # How old a value can be
//
// Reads are answered by the server that the client is connected to. A server that
// follows another lags behind it, as a rule by milliseconds. One that has lost its
// leader goes on answering until it notices, after the ensemble's syncLimit at the
// most, commonly ten seconds, and then hangs up. So a [Watch] that is not
// Suspended can be that far behind what another client has written; one whose own
// link has died without a word finds out, and says Suspended, after about a third
// of the session timeout.
//
// A client sees at once what it has written itself: a Watch that is started when
// [Modify] or [Publish] has returned, on the same client, never shows anything
// older. Within one session nothing that a client reads goes back in time.
//
// [Read] has its server catch up with the leader first, and so returns nothing
// older than what was stored when it was called, with one exception: a leader that
// has been replaced and does not know it yet, also for the syncLimit at the most,
// takes itself for the present one. And what Read returns may have been changed
// again by the time it is looked at. What has to be right at the moment at which
// it takes effect must be a change: [Modify] changes what it has read if nobody else
// has stored anything since.
//
// # What is stored
//
// A value is the data of one znode. Znodes that are made for values are
// persistent, and so are those above them, which have null data. Beside these the
// package keeps a few small znodes for each client that changes something, in the
// directory /_zkcoord below the client's chroot; see [Modify]. They are containers,
// which the ensemble removes some time after the client's session, but for an empty
// one that a program may leave which ends in the middle of making it; or ephemeral,
// where the ensemble has no containers.
package config

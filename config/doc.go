// Package config keeps typed configuration in ZooKeeper. Programs follow it, and
// change it safely.
//
// A [Value] is one setting, a znode; a [Tree] is all the settings below a path, one
// znode for each key. A [Codec] says how they are stored, and checks them. A [Counter] is
// a number that clients add to.
//
//	codec := config.JSON[Limits]().Check(Limits.Validate)
//	codec.Default = Limits{RPS: 100}
//	limits := config.New(c, "/app/limits", codec)
//
//	updates := limits.Watch(ctx)
//	for u := range updates.All() {
//		if u.Err != nil {
//			log.Print(u.Err) // what is stored now is no good
//		}
//		apply(u.Value) // the last good value, or the default
//	}
//	return updates.Err()
//
// # How old a value can be
//
// Reads are answered by the server that the client is connected to. A server that
// follows another lags behind it, as a rule by milliseconds. One that has lost its
// leader goes on answering until it notices, after the ensemble's syncLimit at the
// most, commonly ten seconds, and then hangs up. So a Watch that is not Suspended can
// be that far behind what another client has written. One whose own connection has
// died silently finds out, and says Suspended, after about a third of the session
// timeout.
//
// A client sees at once what it has written itself: a Watch that is started when
// [Value.Modify], [Value.Store] or [Tree.Publish] has returned, on the same client,
// never shows anything older. Within one session nothing that a client reads goes
// back in time.
//
// [Value.Read] and [Tree.Read] make their server catch up with the leader first, and
// so return nothing older than what was stored when they were called, with one
// exception: a leader that has been replaced and does not know it yet takes itself
// for the present one, for the syncLimit at most, too. And what they return may have
// been changed again by the time it is looked at. If a decision must still be right
// when it takes effect, make it within [Value.Modify], which changes what it has read
// if nobody else has stored anything since.
//
// # Only the leader changes it
//
// The methods that change something take conditions, which are checked in the same
// transaction. With the Guard of a Hold, the change is made only while that is held:
//
//	err := lock.New(c, "/app/leader").Do(ctx, func(ctx context.Context, h *coord.Hold) error {
//		_, err := tree.Publish(ctx, routes, nil, h.Guard())
//		return err // coord.ErrNotHeld if another may lead by now: nothing was changed
//	})
//
// With OpCheck of another value and the Version of its Update, the change is made only
// while that is still what was read.
//
// # How it fails
//
// Every error is a [*coord.Error] that names the method and the path. A change whose
// error is not [coord.ErrUnknown] was not carried out. Streams outlive connections and
// sessions: they say Suspended, and go on. They end with their ctx, with the client,
// or when the ensemble refuses to show what is followed.
//
// # What is stored
//
// A value is the data of one znode. Znodes that are made for values are
// persistent, and so are those above them, which have null data. Besides these the
// package keeps a few small znodes for each client that changes something, in the
// directory /_zkcoord below the client's chroot; see [Value.Modify]. They are
// containers, which the ensemble removes some time after the end of the client's
// session, except an empty one that a program may leave if it ends in the middle of
// making it. Where the ensemble has no containers they are ephemeral.
package config

// Package leader elects one of many clients, its leader, and tells everybody who that is.
//
//	e := leader.New(c, "/shop/leader")
//	err := e.Lead(ctx, []byte(addr), func(ctx context.Context, h *coord.Hold) error {
//		return serve(ctx, h) // ctx is canceled when the term is over
//	})
//
// A candidate leads for a term, which is a [coord.Hold]. [Election.Campaign] asks for one
// term, [Election.Lead] calls a function in each, and [Election.Keep] has a client be a
// candidate for as long as it lives. The leader publishes a value, such as its address,
// and may change it. [Election.Watch] and [Election.Leader] tell who leads, with the value.
//
// # What is promised
//
//   - While one client leads, no other does, as long as the leader stops when it is told of
//     the loss: see [coord.Hold.Lost]. What it still writes then is rejected by
//     [coord.Hold.Guard], or by [coord.Hold.Token]. Of two terms, the later has the
//     greater token.
//   - Candidates lead in the order in which they came. The end of a term wakes one of them.
//   - A leader that was deposed does not publish over the value of the next.
//   - What an observer costs the ensemble depends on how often the leader changes, and not
//     on how many candidates there are.
//
// # How it works
//
// Candidates queue in the directory as the contenders of a lock.Mutex do. The one that
// leads announces itself by an ephemeral znode beside the directory, named after it with
// "-leader" appended. Its data are a line with the name of the candidate's znode, the
// token and the label, and then the value. The leader writes it in transactions that check
// its znode in the queue, so it can write nothing there once it leads no more. It follows
// the announcement, and makes it again if somebody deletes it or writes over it. Leading
// does not wait for the announcement.
//
// At the end of a term its announcement is removed in such a transaction. If the znode in
// the queue goes first, that is no longer possible. Then the announcement is read, and
// deleted, in the version that was read, if it is that of the term. If the next leader has
// replaced it in between, that deletion fails, because the new one has another version. It
// may still hit the new one in rare cases: if the next leader has changed its value since
// until the versions are the same, if an operator has removed the old one, or if the
// deletion is repeated because its answer was lost. Then that leader makes it again.
//
// An observer watches the announcement and nothing else. When there has been none for about
// a second, it follows the queue instead, until there is one: so it sees leaders that do
// not announce themselves.
//
// # What it costs
//
// A term costs what the Mutex costs, and beside it three requests: the announcement is
// made, read once to be followed, and removed; two more if it is still there when the znode
// in the queue has gone. A change of the value costs two. An observer costs one watch, one
// read for each change of the value, and one to three small requests for each change of the
// leader: three if there was none in between. While nobody announces itself, it costs what
// Watch of a Mutex does.
//
// # How it fails
//
// A broken connection alone ends no term: see package lock. A leader that may not write the
// announcement leads without one; [Election.Publish] tells why, and observers look at the
// queue. If an earlier leader's announcement is there meanwhile, they see that one until
// its session ends. A leader that may write it but not read it publishes all the same. But
// it does not notice if somebody deletes it or writes over it, and may leave it there until
// its session ends.
//
// A leader is deposed by an operator who deletes its znode in the queue, or writes
// "__REVOKE__" into it. With deletion the next may lead before the former has heard of it.
//
// # Other programs
//
// The LeaderSelector of Apache Curator can share the directory, because it is a mutex; so
// can kazoo's Election, if its lock is replaced by a Lock with extra_lock_patterns=["-lock-"].
// Observers here show their leaders with the data of their znodes as the value: for
// a LeaderSelector its id. Its own observers see our candidates, with their labels as ids.
//
// Curator's LeaderLatch cannot share a directory with this package: neither looks at the
// candidates of the other. Where there is one, candidates and observers end with
// [coord.ErrForeign]. A LeaderLatch that is started later is not kept from leading, and a
// candidate that leads by then does not see it. So give each a directory of its own.
package leader

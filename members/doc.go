// Package members is group membership and a name service: programs announce
// themselves in a directory, and others see who is there.
//
//	g := members.New(c, "/workers")
//	me := g.Keep(ctx, members.Member{ID: "worker-7", Data: []byte("10.0.0.7:8080")})
//	defer me.Leave(context.WithoutCancel(ctx))
//	for view := range g.Watch(ctx).All() {
//		fmt.Println(len(view.Members))
//	}
//
// It is the group membership of ZooKeeper's recipes. A member is an ephemeral znode
// in the group's directory. Its name is the member's ID, its data are what the member
// says of itself, and it goes with the session of its client. The znodes are those of
// Apache Curator's GroupMember, which can share the directory. Children of the
// directory that belong to no session are not members, and are left alone.
//
// # Joining
//
// [Group.Keep] keeps a member announced, through expired sessions and deletions, until
// it leaves. Services use it. [Group.Join] announces a member once, as a [coord.Hold],
// which is lost with the session. Programs use it where a member does what nobody else
// may do under its ID: the Hold says when to stop, and has a token and a guard.
//
// # Looking
//
// [Group.Watch] follows the whole group, [Group.Follow] one member. [Group.Members] and
// [Group.Find] look once. [Group.AwaitN] and [Group.Await] wait until someone is there.
//
// # Guarantees
//
// One client at a time is in under an ID. Of two uses of one client the second ends
// with [ErrTaken].
//
// A client whose session has expired replaces the znode that it left behind by its
// new one in one transaction, so that nobody sees the member missing, not even when the
// ensemble ends the earlier session later.
//
// Nobody lists a member whose znode was not there. Views are states and not steps:
// they skip what came and went in between, and end on the truth.
//
// Nothing is written for a member after it has left. A member whose attempt was
// canceled leaves no znode behind.
//
// # How it fails
//
// While the connection is down Views, Presences and Statuses are marked Suspended: they
// may be out of date. A member stays in for as long as its session lives.
//
// A session that ZooKeeper ends, or that the client gives up because no server answers,
// is [coord.ErrExpired]: a Hold is lost, and a Membership is out and joins again in the
// next session. A znode that somebody deletes is [coord.ErrDeleted], with the same
// effect. A process that is stopped, or deleted by hand, learns of it only afterwards;
// then Token and Guard of a Hold reject what it still writes. A write or a removal of a
// Membership that is under way when somebody deletes its znode by hand may hit the next
// member of the ID: it is bound to the version of the znode alone.
//
// A permission that is missing ends what needs it with [coord.ErrNoAuth]. Children
// that may not be read are named by View.Err.
package members

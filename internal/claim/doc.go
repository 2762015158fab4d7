// Package claim makes the znode at a path that everybody knows stand for one owner:
// for a member under its ID, or for the holder of a lock.
//
// # Guards
//
// A path that is used again and again cannot tell one owner from the next. So an owner
// can have a second ephemeral znode, a guard, with a name that is used once, in a
// directory that belongs to the path. The two are made and removed in one transaction,
// and nobody owns the path before the guards of earlier owners are gone. This is what
// a guard is good for:
//
//   - A guarded write checks it. So no write of an earlier owner passes once there is
//     another.
//   - A removal checks it, and so removes no other owner's znode, however late it is
//     carried out.
//   - It tells whether a create whose answer was lost was carried out.
//
// Each path has a directory of guards for itself. The transaction that makes a guard
// tells how many there are. So an owner that finds no other has made one request, and
// one that finds others lists a few, however many paths there are. A directory for many
// paths would have to be listed by everybody. To note the guard of the owner in a znode
// of its own would do without a listing and without the directory; but if somebody
// deleted that note and left the guard, writes of a stale owner would pass.
//
// A claim without a guard binds its writes and its removal to the version of the znode
// alone. One that is under way when somebody deletes the znode by hand may hit that of
// the next owner, if that has the same version.
//
// # The machine
//
// What a claim does next is decided by a pure machine, in machine.go and step.go, and
// done by a driver, in claim.go and request.go. The tests walk through every state that
// a few machines can come to beside a server, operators, and other programs.
//
// One thing the machine cannot know: if the answer to a create is lost, and somebody
// deletes the guard by hand before the claim has looked for it, the claim takes the
// create for one that was not carried out. It then finds its own znode in the way, as
// one that an earlier claim of its session left behind: a member replaces it, a lock
// waits for it until the session ends.
package claim

package watch

import (
	"slices"

	"github.com/zkcoord/zkcoord/event"
)

// A listing costs as much as the directory is large. Where the server tells of each child
// that comes and goes, by a watch on all that is below, an entry can do without: it asks
// for the directory's Stat, which counts the comings and goings. If it counts as many as
// were told, the children are those that were listed before, with these changes. If not,
// because one may not be read, say, or the server tells of less than expected, they are
// listed again. So nothing depends on what the server tells but how often that is.

// A coming is what an event tells of a child: that it has come, or that it has left.
type coming struct {
	name string
	left bool
}

// maxComings bounds what is kept of a directory between two answers.
const maxComings = 1000

// A roster is what an entry has been told of the children of a directory since the answer
// that its snapshot is from.
type roster struct {
	told []coming
	// before is how many were told when the server answered the read under way; -1 if
	// it has not yet, or in an earlier connection.
	before int
	// gaps says that there may be more than was told.
	gaps bool
}

// hear notes what an event tells.
func (r *roster) hear(c coming) {
	if len(r.told) == maxComings {
		r.lose()
	}
	r.told = append(r.told, c)
}

// lose notes that what is told from now on is not all. What is known of the read under
// way is void, for what is told may be missing on either side of its answer.
func (r *roster) lose() { *r = roster{before: -1, gaps: true} }

// answered notes that the server has answered the read under way.
func (r *roster) answered() { r.before = len(r.told) }

// begin notes that a read begins.
func (r *roster) begin() { r.before = -1 }

// rebase notes that snap, from the answer to the read under way, is the snapshot. A server
// may give the names and the Stat of two moments; then nothing can be built on it.
func (r *roster) rebase(snap event.Snapshot) {
	if r.before < 0 || !snap.Exists || int(snap.NumChildren) != len(snap.Children) {
		r.lose()
		return
	}
	*r = roster{told: slices.Delete(r.told, 0, r.before), before: -1}
}

// children returns what the children are when the Stat of their directory is now, after
// last. It reports whether that is known.
func (r *roster) children(last event.Snapshot, now event.Stat) ([]string, bool) {
	count := int(now.Cversion - last.Cversion)
	switch {
	case now.Czxid != last.Czxid:
		return nil, false // another directory
	case count == 0 && now.NumChildren == last.NumChildren:
		return last.Children, true
	case r.gaps || r.before != count:
		return nil, false
	}
	names := slices.Clone(last.Children)
	for _, c := range r.told[:count] {
		i, there := slices.BinarySearch(names, c.name)
		switch {
		case there != c.left:
			return nil, false
		case c.left:
			names = slices.Delete(names, i, i+1)
		default:
			names = slices.Insert(names, i, c.name)
		}
	}
	return names, len(names) == int(now.NumChildren)
}

// counts reports whether the next read can do with the Stat of the directory.
func (e *entry) counts() bool {
	return e.kind == event.Children && e.has && e.snap.Exists && !e.unlisted
}

// lost takes note that the server may no longer have a watch that it has armed.
func (e *entry) lost(do *actions) {
	e.suspect = true // as far as it is being armed
	if e.watch != unarmed {
		e.watch, e.unconfirmed = unarmed, false
		e.requestRead(do)
	}
}

// Package members lets programs announce themselves, and tells who is there.
//
//	g := members.New(c, "/workers")
//	me := g.Keep(ctx, members.Member{ID: "worker-7", Data: []byte("10.0.0.7:8080")})
//	defer me.Leave(context.WithoutCancel(ctx))
//	for view := range g.Watch(ctx).All() {
//		fmt.Println(len(view.Members))
//	}
//
// It is the group membership of ZooKeeper's recipes: a member is an ephemeral
// znode in a directory, named by the member's ID, and goes with its session. Its
// data are what the member tells of itself, so a group is a name service as well:
// see [Group.Find], [Group.Await] and [Group.Follow]. The znodes are those of
// Apache Curator's GroupMember, which can share the directory. Children of the
// directory that belong to no session are not members, and are left alone. What
// else there is of a member, for the guard of its Hold, is in a directory beside
// the group's: see [Group.Join].
package members

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/subtree"
)

// ErrTaken is why one can not be a member under an ID: somebody else is, in a
// session that lives as far as the ensemble knows, or what stands there is no
// member at all. A former session of the same client is nobody else. But that of
// a program that was killed and started again is: it lives on for its timeout.
var ErrTaken = errors.New("members: ID taken by someone else")

// A Member is one who is there.
type Member struct {
	ID   string // a name for a znode: any UTF-8 but slashes, control characters, "." and ".."
	Data []byte // what it tells of itself; up to [coord.MaxData] bytes
}

// A Group is the members that have announced themselves in one directory.
//
// A Group must come from [New]. It is only a name, and may be shared.
type Group struct {
	c   *coord.Client
	dir string
}

// New returns the group whose members are in the directory dir. The directory and
// what is missing above it are created by the first who joins, as containers,
// which the server removes some time after they were last used. So is the directory
// beside it whose name is dir's with "-guard" appended, which belongs to the group. A
// dir that can not be one is reported by whatever is done with the Group.
func New(c *coord.Client, dir string) *Group { return &Group{c, dir} }

// A View is who was there, as seen in one listing of the directory. Data may be of
// moments that are a read apart.
type View struct {
	Members   []Member // in the order of their IDs; not to be modified, nor the data
	Suspended bool     // the connection is down, and this is what was last known

	// Err says of which children of the directory it is not known whether they are
	// members, because they may not be read. Such are not in Members.
	Err error
}

// Member returns the member of v with this ID, and whether there is one.
func (v View) Member(id string) (Member, bool) {
	i, ok := slices.BinarySearchFunc(v.Members, id, func(m Member, id string) int { return strings.Compare(m.ID, id) })
	if !ok {
		return Member{}, false
	}
	return v.Members[i], true
}

func (v View) equal(w View) bool {
	return v.Suspended == w.Suspended && fmt.Sprint(v.Err) == fmt.Sprint(w.Err) && slices.EqualFunc(v.Members, w.Members, same)
}

func same(a, b Member) bool { return a.ID == b.ID && bytes.Equal(a.Data, b.Data) }

// Watch follows who is in g until ctx ends. The first View has all who were there
// when it was asked for and have not gone since. No View lists a member that was not
// seen to be there; in a burst one who has just come is in one of the next, and one
// who has just gone may be in this one still. Views are states: use [Diff] for what
// has changed since another.
//
// The stream ends with a [coord.Error] whose cause is ctx's, or [coord.ErrClosed],
// or the ensemble's refusal to list the directory. One that is not there has no
// members.
//
// A client asks for the data of a member once, and again when they have changed.
// For the list it asks at the first change at once, and then at intervals that
// grow with its length, of 50 µs for each child, whatever happens in between.
// Any number of streams of one client cost the ensemble what one does.
func (g *Group) Watch(ctx context.Context) *event.Stream[View] {
	var last View
	return subtree.Watch(ctx, g.c, g.dir, subtree.Recipe[View]{
		Op: "watch the members of",
		Fold: func(nodes []*subtree.Node) (View, bool) {
			now := view(nodes)
			news := !now.equal(last)
			last = now
			return now, news
		},
		Suspend: func(last View) View {
			last.Suspended = true
			return last
		},
	})
}

func view(nodes []*subtree.Node) View {
	v := View{Members: make([]Member, 0, len(nodes))}
	unread := 0
	for _, n := range nodes {
		switch {
		case n.Err != nil:
			if unread++; unread == 1 {
				v.Err = n.Err
			}
		case n.EphemeralOwner != 0:
			v.Members = append(v.Members, Member{n.Name, n.Data})
		}
	}
	if unread > 1 {
		v.Err = fmt.Errorf("%w; and %d more", v.Err, unread-1)
	}
	return v
}

// Diff returns who has come and who has gone from prev to next, and who has other
// data, as in next. Who has gone and come back in between is not seen.
func Diff(prev, next View) (joined, left, changed []Member) {
	a, b := prev.Members, next.Members
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) == 0 || len(b) > 0 && b[0].ID < a[0].ID:
			joined, b = append(joined, b[0]), b[1:]
		case len(b) == 0 || a[0].ID < b[0].ID:
			left, a = append(left, a[0]), a[1:]
		default:
			if !same(a[0], b[0]) {
				changed = append(changed, b[0])
			}
			a, b = a[1:], b[1:]
		}
	}
	return joined, left, changed
}

// path returns the path of a member's znode.
func (g *Group) path(id string) string { return coord.Child(g.dir, id) }

// guards returns the full path of the directory with what the guards of those check
// who join under an ID; "" for a group in the root, beside which there is no room.
func (g *Group) guards(id string) string {
	if g.dir == "/" {
		return ""
	}
	return g.c.FullPath(coord.Child(g.dir+claim.Suffix, id))
}

// check reports what is wrong with an ID, or with the directory.
func (g *Group) check(id string) error {
	if err := coord.CheckPath(g.dir); err != nil {
		return err
	}
	switch {
	case id == "":
		return fmt.Errorf("%w: empty member ID", coord.ErrInvalidPath)
	case strings.Contains(id, "/"):
		return fmt.Errorf("%w: member ID %q with a slash", coord.ErrInvalidPath, id)
	}
	return coord.CheckPath(g.path(id))
}

// checkData reports what is wrong with the data of the member at path.
func (g *Group) checkData(path string, data []byte) error {
	if len(data) > coord.MaxData {
		return fmt.Errorf("members: data of %d bytes: at most %d are allowed", len(data), coord.MaxData)
	}
	full := g.c.FullPath(path)
	return coord.CheckSize(&zk.DeleteRequest{Path: full}, // as when it is replaced
		&zk.CreateRequest{Path: full, Data: data, Acl: g.c.ACL()})
}

package members

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/claim"
	"github.com/zkcoord/zkcoord/internal/subtree"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// ErrTaken means that the ID belongs to another session, which lives as far as
// ZooKeeper knows, or that a znode that is no member has its name. An earlier session
// of the same client does not count as another. That of an earlier process does: when
// a program was killed and started again, the ID is free once ZooKeeper has ended the
// session of the killed one, about its timeout after it was last heard of.
var ErrTaken = errors.New("members: ID taken")

// A Member is a member of a group.
type Member struct {
	ID   string // the name of a znode: any UTF-8 but slashes, control characters, "." and ".."
	Data []byte // what it says of itself, up to 992 KiB
}

// A Group is the members in one directory.
//
// A Group must come from [New]. It has no state of its own: any number of Groups may
// stand for one directory. Its methods are safe for concurrent use.
type Group struct {
	c   *coord.Client
	dir string
}

// New returns the group whose members are in the directory dir. The first member
// creates the directory, and what is missing above it, as containers, which the server
// removes some time after they were last used. A directory beside it, whose name is
// dir's with "-guard" appended, belongs to the group as well. If dir is invalid, all
// methods say so.
func New(c *coord.Client, dir string) *Group { return &Group{c, dir} }

// A View is the members as seen in one listing of the directory. Their data may be of
// moments that are a read apart.
type View struct {
	Members   []Member // in the order of their IDs; neither they nor their data may be modified
	Suspended bool     // the connection is down, and this is what was last known

	// Err names children of the directory that may not be read, so that it is unknown
	// whether they are members. They are not in Members.
	Err error
}

// Member returns the member with this ID, and whether v has one.
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

// Watch follows the members of g until ctx ends. The first View has every member that
// was there at the call and has not left since. During a burst a View may lag: a new
// member may be missing, and one that has left may still be in it, until the next. Use
// [Diff] for the difference between two Views.
//
// The stream ends with a [coord.Error] whose cause is ctx's, or [coord.ErrClosed],
// or ZooKeeper's refusal to list the directory. A directory that does not exist has no
// members.
//
// A client reads the data of a member once, and again when they have changed. It lists
// the directory when a change is announced, at most once in 50 µs for each child. Any
// number of streams of one client cost ZooKeeper what one does.
func (g *Group) Watch(ctx context.Context) *event.Stream[View] {
	var last View
	return subtree.Watch(ctx, g.c, g.dir, subtree.Recipe[View]{
		Op: "watch",
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

// Diff returns the members of next that are not in prev, those of prev that are not in
// next, and those of next whose data differ. A member that left and came back between
// the two with the same data is in none of them.
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
func (g *Group) path(id string) string {
	if g.dir == "/" {
		return "/" + id
	}
	return g.dir + "/" + id
}

// guards returns the directory with the guards of those who join under an ID, "" for a
// group in the root, beside which there is no room.
func (g *Group) guards(id string) string {
	if g.dir == "/" {
		return ""
	}
	return zkpath.Join(g.dir+claim.Suffix, id)
}

// check reports what is wrong with an ID, or with the directory.
func (g *Group) check(id string) error {
	if err := zkpath.Check(g.dir); err != nil {
		return err
	}
	switch {
	case id == "":
		return fmt.Errorf("%w: empty member ID", coord.ErrInvalidPath)
	case strings.Contains(id, "/"):
		return fmt.Errorf("%w: member ID %q with a slash", coord.ErrInvalidPath, id)
	}
	return zkpath.Check(g.path(id))
}

// maxData is the most bytes that a member's data may have. Servers take requests of
// just under 1 MiB; what is left over is for paths and access lists.
const maxData = 1<<20 - 32<<10

// checkData reports what is wrong with the data of a member: that a znode with them may
// not be created, or not in place of one that an earlier session left behind.
func (g *Group) checkData(id string, data []byte) error {
	if len(data) > maxData {
		return fmt.Errorf("members: data of %d bytes: at most %d are allowed", len(data), maxData)
	}
	path := g.path(id)
	return g.c.Kit().CheckSize(coord.OpDelete(path, -1), coord.OpCreate(path, nil, coord.Ephemeral), coord.OpSet(path, data, -1))
}

package members

import (
	"context"
	"errors"
	"fmt"
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
	Data []byte // what it says of itself, up to 992 KiB; more is [coord.ErrTooLarge]
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

// Watch follows the members of g until ctx ends. The first View has every member that
// was there at the call and has not left since. During a burst a View may lag: a new
// member may be missing, and one that has left may still be in it, until the next. Use
// [View.Diff] for the difference between two Views.
//
// The stream ends with a [coord.Error] whose cause is ctx's, or [coord.ErrClosed],
// or ZooKeeper's refusal to list the directory. A directory that does not exist has no
// members.
//
// A client reads the data of a member once, and again when they have changed. When
// members come or go, that costs two small requests, and the data of those who have come;
// of a group of 128 or more, no matter how large. A smaller group is listed, and on servers
// before 3.6 every group is, at most once in 50 µs for each member. Any number of streams
// of one client cost ZooKeeper what one does.
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

// path returns the path of a member's znode.
func (g *Group) path(id string) string {
	if g.dir == "/" {
		return "/" + id
	}
	return g.dir + "/" + id
}

// guards returns the directory with the guards of members under an ID, "" for a group
// in the root, beside which there is no room.
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
		return fmt.Errorf("%w: data of %d bytes: at most %d are allowed", coord.ErrTooLarge, len(data), maxData)
	}
	path := g.path(id)
	return g.c.Kit().CheckSize(coord.OpDelete(path, -1), coord.OpCreate(path, nil, coord.Ephemeral), coord.OpSet(path, data, -1))
}

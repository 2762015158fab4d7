// Package claim is what those recipes share in which one znode, at a path that
// everybody knows, stands for whoever has made it.
//
// A name that is used again and again cannot tell one holder from the next. So a
// holder has a second ephemeral znode, with a name of its own, in a directory that
// belongs to the path. The two come and go in one transaction, and nobody holds
// before the second ones of earlier holders are gone. So the second is what a guard
// checks. A release checks it, too, and then removes no other's znode, however late
// it is carried out. And it tells whether a request whose answer was lost was
// carried out.
//
// Each path has a directory for itself. The transaction that makes our own name
// tells how many names are there, so who finds no other one has made one request,
// and who finds one lists a few, however many paths there are. A directory for many
// paths would have to be listed by everybody who comes. To note an earlier holder's
// name in a znode of its own would do without a listing, and without the request that
// makes the directory; but who deletes the note by hand, and leaves the name, would
// have the guard of a stale holder let writes pass.
package claim

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// A Claim is the two znodes of one who seeks to hold a path, in one session. Nothing
// else may be done with it while Take runs.
type Claim struct {
	c     *coord.Client
	s     *coord.Session
	path  string // what others want as well
	dir   string // in which each holder has a name of its own
	own   string // ours; nobody else ever has it
	label []byte // the data of own
	token int64  // the transaction that made path and own; zero if they are not there, or not known to be
}

// New returns a claim to a path, with the directory that belongs to it. Both are
// full paths. The label is for whoever looks at the second znode. New asks for
// nothing yet.
func New(c *coord.Client, s *coord.Session, path, dir string, label []byte) *Claim {
	return &Claim{c: c, s: s, path: path, dir: dir, own: newName(dir), label: label}
}

// Suffix makes of the path of a znode, or of a directory of such, the path of the
// directory beside it that is for the names of holders.
const Suffix = "-guard"

// Prefix begins the names of holders in a directory; other children are none of
// ours.
const Prefix = "holder-"

func newName(dir string) string { return dir + "/" + Prefix + rand.Text() }

// Own returns the path of our own name.
func (c *Claim) Own() string { return c.own }

// Token returns the id of the transaction that made our znodes, zero if they have
// not been made.
func (c *Claim) Token() int64 { return c.token }

// An OwnError is a refusal that concerns our own name and not the path. Nothing has
// been made.
type OwnError struct{ Err error }

func (e OwnError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e OwnError) Unwrap() error { return e.Err }

// A ClearError is a refusal to list or remove the names of earlier holders. Our
// znodes are there, but guards of theirs may be in force.
type ClearError struct{ Err error }

func (e ClearError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e ClearError) Unwrap() error { return e.Err }

// maxMakes bounds how often what is missing is made for one Take.
const maxMakes = 8

// ourVersion is the data version of the znode at the path as we make it. One
// that another program just creates has version zero.
const ourVersion = 1

// background is the context of all requests. They end with the session.
var background = context.Background()

// Take makes our two znodes, the one at the path with data, and returns when no
// earlier holder can do harm any more: to do anything under its guard, or to remove
// what is at the path, takes its own name. If another's is at the path the error is
// zk.ErrNodeExists. If former is not nil, the one that it is the Stat of is replaced
// in the same transaction, and if that has gone or changed the error is
// zk.ErrNodeExists as well.
//
// ctx ends the trying. What is there after an error Remove removes.
func (c *Claim) Take(ctx context.Context, data []byte, former *zk.Stat) error {
	var ops []any
	if former != nil {
		ops = append(ops, &zk.DeleteRequest{Path: c.path, Version: former.Version})
	}
	ops = append(ops,
		&zk.CreateRequest{Path: c.path, Acl: c.c.ACL(), Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: c.path, Data: data, Version: ourVersion - 1},
		&zk.CreateRequest{Path: c.own, Data: c.label, Acl: c.c.ACL(), Flags: zk.FlagEphemeral},
		// This makes the answer tell the id of the transaction, and how many
		// children there are: so a path that is free costs one request.
		&zk.SetDataRequest{Path: c.dir, Data: []byte{}, Version: -1},
	)
	ownOps := len(ops) - 2
	for makes := 0; ; {
		// What has been made is used, whoever has given up meanwhile: not every
		// server removes a container that never had a child.
		unused := makes > 0
		if ctx.Err() != nil && !unused {
			return coord.GivenUp(ctx)
		}
		res, err := coord.Call(background, c.s, func(conn *zk.Conn) ([]zk.MultiResponse, error) {
			return coord.Transact(conn, ops...)
		})
		at := slices.IndexFunc(res, func(r zk.MultiResponse) bool { return r.Error != nil })
		switch {
		case err == nil:
			stat := res[len(ops)-1].Stat
			if c.token = stat.Mzxid; stat.NumChildren == 1 {
				return nil
			}
		case former != nil && at == 0 && (errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion)):
			return zk.ErrNodeExists
		case errors.Is(err, zk.ErrNoNode) && makes < maxMakes:
			makes++
			if err := c.makeDirs(at < ownOps); err != nil {
				return err
			}
			continue
		case errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("%w: the directory is removed as soon as it is made", err)
		case coord.Refused(err) && at >= ownOps:
			return OwnError{err}
		case coord.Refused(err):
			return err
		default:
			// It may have been carried out. Our own name tells: what is at the
			// path may also be another's of this session. If it is not there now
			// it will not come late, for a server that resumes a session is done
			// with what came on its former connection.
			stat, err := c.find()
			if err != nil {
				return err
			}
			if stat == nil {
				continue
			}
			c.token = stat.Czxid
		}
		if err := Clear(c.s, c.dir, c.token); coord.Refused(err) {
			return ClearError{err}
		} else if err != nil {
			return err
		}
		if stat, err := c.Look(); err != nil || c.made(stat) {
			return err
		}
		// An earlier holder, whose znode at the path was deleted by hand, was
		// just about to release, and has removed ours.
		if err := unlink(c.s, c.own); err != nil {
			return err
		}
		c.token = 0
	}
}

// makeDirs makes the directory of the own names and, if that is missing as well,
// the one that the path is in.
func (c *Claim) makeDirs(both bool) error {
	if both {
		if err := c.s.MakeDir(background, path.Dir(c.path)); err != nil {
			return err
		}
	}
	err := c.s.MakeDir(background, c.dir)
	if coord.Refused(err) {
		return OwnError{err}
	}
	return err
}

// Clear removes the own names in dir of those who held before the transaction token.
// Once that is done nothing of theirs can remove any more what is at the path. The
// session's own changes are known to whoever answers it, so there is no need for a
// Sync.
func Clear(s *coord.Session, dir string, token int64) error {
	names, err := coord.Retry(background, s, func(conn *zk.Conn) ([]string, error) {
		names, _, err := conn.Children(dir)
		return names, err
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		node := dir + "/" + name
		stat, err := look(s, node)
		if err != nil {
			return err
		}
		if stat == nil || stat.EphemeralOwner == 0 || stat.Czxid >= token {
			continue // no holder's; our own; or that of one who came later, and then we are not the holder
		}
		if err := unlink(s, node); err != nil {
			return err
		}
	}
	return nil
}

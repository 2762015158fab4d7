package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/queue"
)

// The znodes of one attempt, by full path.
type znodes struct {
	path  string // the lock's; its data are the label
	dir   string // in which each holder has one of its own
	own   string // ours; nobody else ever has this name
	token int64  // the transaction that made path and own; zero if they are not there, or not known to be
}

func znodesOf(path string) znodes {
	dir := path + guardSuffix
	return znodes{path: path, dir: dir, own: dir + "/" + holderPrefix + rand.Text()}
}

// guardSuffix follows the lock's path in that of dir.
const guardSuffix = "-guard"

// holderPrefix begins the names of holders in dir; other children are none of
// ours.
const holderPrefix = "holder-"

// An answer is what became of a request.
type answer struct {
	token int64 // of the transaction that made what is there; zero if nothing is, or nothing of ours
	err   error // why it was refused, or could not be made any more
}

// maxMakes bounds how often a directory that is missing is made for one attempt.
const maxMakes = 8

// ourVersion is the data version of the znode at the path as we make it. One
// that another program just creates has version zero.
const ourVersion = 1

// background is the context of all requests. They end with the session.
var background = context.Background()

// take makes our two znodes, unless another's is at the path, and returns their
// token once no earlier holder can do harm: to do anything under its guard, or to
// remove what is at the path, takes a znode in dir.
func (a *attempt) take() answer {
	ops := []any{
		&zk.CreateRequest{Path: a.path, Data: []byte(a.label), Acl: a.c.ACL(), Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: a.path, Data: []byte(a.label), Version: ourVersion - 1},
		&zk.CreateRequest{Path: a.own, Data: []byte(a.label), Acl: a.c.ACL(), Flags: zk.FlagEphemeral},
		// This makes the answer tell the id of the transaction, and how many
		// children there are: so a lock that is free costs one request.
		&zk.SetDataRequest{Path: a.dir, Data: []byte{}, Version: -1},
	}
	// What has been made is used, whoever has given up meanwhile: the server does
	// not remove a container that never had a child.
	for makes := 0; makes > 0 || a.k.Context().Err() == nil; {
		former := queue.Stakes(a.c, a.name) // before the asking: what is over by then is not in the way
		res, err := coord.Call(background, a.s, func(conn *zk.Conn) ([]zk.MultiResponse, error) {
			return coord.Transact(conn, ops...)
		})
		var token int64
		switch {
		case err == nil:
			stat := res[len(ops)-1].Stat
			if token = stat.Mzxid; stat.NumChildren == 1 {
				return answer{token: token}
			}
		case errors.Is(err, zk.ErrNodeExists) && a.try && a.yielded(former):
			continue // it may have been theirs
		case errors.Is(err, zk.ErrNodeExists):
			return answer{}
		case errors.Is(err, zk.ErrNoNode) && makes < maxMakes:
			makes++
			if err := a.s.MakeDir(background, a.dir); err != nil {
				return answer{err: err}
			}
			continue
		case errors.Is(err, zk.ErrNoNode):
			return answer{err: fmt.Errorf("%w: the directory is removed as soon as it is made", err)}
		case coord.Refused(err):
			return answer{err: err}
		default:
			// It may have been carried out. Our own name tells: what is at the
			// path may also be another attempt's of this session. If it is not
			// there now it will not come late, for a server that resumes a
			// session is done with what came on its former connection.
			stat, err := a.look(a.own, true)
			if err != nil {
				return answer{err: err}
			}
			if stat == nil {
				continue
			}
			token = stat.Czxid
		}
		ours, err := a.clear(token)
		if ours || err != nil {
			return answer{token, err}
		}
		// An earlier holder, whose znode at the path was deleted by hand, was
		// just about to release, and has removed ours.
		if err := a.unlink(a.own); err != nil {
			return answer{token, err}
		}
	}
	return answer{}
}

// yielded waits until one of former, which are our own client's, is over, if any
// is about to be, and reports whether one is.
func (a *attempt) yielded(former []*queue.Stake) bool {
	return slices.ContainsFunc(former, func(s *queue.Stake) bool { return s.Yields(a.k, a.s) })
}

// clear removes what earlier holders have in dir, and reports whether the znode
// at the path is still ours, of the transaction token. If it is, no release of
// theirs can remove it any more. The session's own changes are known to whoever
// answers it, so there is no need for a Sync.
func (a *attempt) clear(token int64) (bool, error) {
	names, err := coord.Retry(background, a.s, func(conn *zk.Conn) ([]string, error) {
		names, _, err := conn.Children(a.dir)
		return names, err
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return false, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, holderPrefix) {
			continue
		}
		node := a.dir + "/" + name
		stat, err := a.look(node, false)
		if err != nil {
			return false, err
		}
		if stat == nil || stat.EphemeralOwner == 0 || stat.Czxid >= token {
			continue // no holder's; our own; or that of one who came later, and then we are not the holder
		}
		if err := a.unlink(node); err != nil {
			return false, err
		}
	}
	stat, err := a.look(a.path, false)
	return stat != nil && stat.Czxid == token, err
}

// remove deletes our znodes, or only our own name if the path is known not to be
// ours any more. In one transaction our own name stands for the path being ours,
// so it does no harm however late or often it is carried out.
func (a *attempt) remove(robbed bool) answer {
	own, version := a.own, int32(ourVersion)
	for !robbed {
		_, err := coord.Retry(background, a.s, func(conn *zk.Conn) ([]zk.MultiResponse, error) {
			return coord.Transact(conn, &zk.DeleteRequest{Path: own, Version: -1}, &zk.DeleteRequest{Path: a.path, Version: version})
		})
		missing := errors.Is(err, zk.ErrNoNode)
		switch {
		case err == nil:
			return answer{}
		case !missing && !errors.Is(err, zk.ErrBadVersion): // that somebody wrote to it
			return a.stuck(err)
		}
		stat, err := a.look(a.path, false)
		if err == nil && stat != nil && stat.Czxid == a.token && missing {
			// Somebody has deleted our own name by hand. With a new one, in which
			// no guard trusts, nobody can hold the path any more who does not
			// remove that first; then is it ours?
			if own, err = a.rename(); err == nil {
				stat, err = a.look(a.path, false)
			}
		}
		if err != nil {
			return a.stuck(err)
		}
		if robbed = stat == nil || stat.Czxid != a.token; !robbed {
			version = stat.Version
		}
	}
	if err := a.unlink(own); err != nil {
		return a.stuck(err)
	}
	return answer{}
}

// rename makes another name for us in dir and returns its path.
func (a *attempt) rename() (string, error) {
	if err := a.s.MakeDir(background, a.dir); err != nil {
		return "", err
	}
	own := a.dir + "/" + holderPrefix + rand.Text()
	_, err := coord.Retry(background, a.s, func(conn *zk.Conn) (string, error) {
		return conn.Create(own, []byte(a.label), zk.FlagEphemeral, a.c.ACL())
	})
	if errors.Is(err, zk.ErrNodeExists) { // made by a try whose answer was lost
		err = nil
	}
	return own, err
}

// stuck notes that our znodes can not be removed because of err.
func (a *attempt) stuck(err error) answer {
	if coord.Refused(err) {
		a.k.Leftover(err)
	}
	return answer{err: err}
}

// inspect asks what is at the path.
func (a *attempt) inspect() answer {
	stat, err := a.look(a.path, false)
	if stat == nil {
		return answer{err: err}
	}
	return answer{token: stat.Czxid}
}

// look returns the Stat of the znode node, nil if there is none. If sync is set
// the answer is no older than the question, whichever server gives it.
func (a *attempt) look(node string, sync bool) (*zk.Stat, error) {
	if sync {
		_, err := coord.Retry(background, a.s, func(conn *zk.Conn) (string, error) { return conn.Sync(node) })
		if err != nil {
			return nil, err
		}
	}
	return coord.Retry(background, a.s, func(conn *zk.Conn) (*zk.Stat, error) {
		ok, stat, err := conn.Exists(node)
		if !ok {
			stat = nil
		}
		return stat, err
	})
}

// unlink deletes node. That it is not there is as good: its name is used once.
func (a *attempt) unlink(node string) error {
	_, err := coord.Retry(background, a.s, func(conn *zk.Conn) (struct{}, error) {
		return struct{}{}, conn.Delete(node, -1)
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

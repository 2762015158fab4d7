package claim

import (
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// Remove deletes our znodes, if there are any, or only our own name if robbed says
// that the path is known not to be ours any more. In one transaction our own name
// stands for the path being ours, so it does no harm however late or often it is
// carried out. If our own name may not be deleted, what is at the path is all the
// same. The error is the ensemble's refusal, or the end of the session.
func (c *Claim) Remove(robbed bool) error {
	if c.token == 0 {
		return nil
	}
	own, version := c.own, int32(ourVersion)
	var left error // why our own name stays
	for !robbed {
		var ours any = &zk.DeleteRequest{Path: own, Version: -1}
		if left != nil {
			ours = &zk.CheckVersionRequest{Path: own, Version: -1}
		}
		res, err := coord.Retry(background, c.s, func(conn *zk.Conn) ([]zk.MultiResponse, error) {
			return coord.Transact(conn, ours, &zk.DeleteRequest{Path: c.path, Version: version})
		})
		missing := errors.Is(err, zk.ErrNoNode)
		switch {
		case err == nil:
			return left
		case left == nil && len(res) > 0 && errors.Is(res[0].Error, zk.ErrNoAuth):
			left = err
			continue
		case !missing && !errors.Is(err, zk.ErrBadVersion): // that somebody wrote to it
			return err
		}
		stat, err := c.Look()
		if err == nil && c.made(stat) && missing {
			// Somebody has deleted our own name by hand. With a new one, in which
			// no guard trusts, nobody can hold the path any more who does not
			// remove that first; then is it ours?
			if own, err = c.rename(); err == nil {
				stat, err = c.Look()
			}
		}
		if err != nil {
			return err
		}
		if robbed = !c.made(stat); !robbed {
			version = stat.Version
		}
	}
	return unlink(c.s, own)
}

// made reports whether the znode at the path, of which this is the Stat, is ours.
func (c *Claim) made(stat *zk.Stat) bool { return stat != nil && stat.Czxid == c.token }

// rename makes another name for us and returns its path.
func (c *Claim) rename() (string, error) {
	if err := c.s.MakeDir(background, c.dir); err != nil {
		return "", err
	}
	own := newName(c.dir)
	_, err := coord.Retry(background, c.s, func(conn *zk.Conn) (string, error) {
		return conn.Create(own, c.label, zk.FlagEphemeral, c.c.ACL())
	})
	if errors.Is(err, zk.ErrNodeExists) { // made by a try whose answer was lost
		err = nil
	}
	return own, err
}

// Look returns the Stat of what is at the path, nil if there is nothing.
func (c *Claim) Look() (*zk.Stat, error) { return look(c.s, c.path) }

// find returns the Stat of our own name, nil if it is not there. The answer is no
// older than the question, unless a leader gives it that is cut off from the others.
func (c *Claim) find() (*zk.Stat, error) {
	_, err := coord.Retry(background, c.s, func(conn *zk.Conn) (string, error) { return conn.Sync(c.own) })
	if err != nil {
		return nil, err
	}
	return look(c.s, c.own)
}

// look returns the Stat of the znode node, nil if there is none.
func look(s *coord.Session, node string) (*zk.Stat, error) {
	return coord.Retry(background, s, func(conn *zk.Conn) (*zk.Stat, error) {
		ok, stat, err := conn.Exists(node)
		if !ok {
			stat = nil
		}
		return stat, err
	})
}

// unlink deletes node. That it is not there is as good: its name is used once.
func unlink(s *coord.Session, node string) error {
	_, err := coord.Retry(background, s, func(conn *zk.Conn) (struct{}, error) {
		return struct{}{}, conn.Delete(node, -1)
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

package coord

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// CreateAll makes sure that there is a znode at path. It creates that, and what is missing
// above it, the chroot included, as persistent znodes with null data. Unlike what
// [Session.InDir] makes, they stay when they have no children any more.
func (s *Session) CreateAll(ctx context.Context, path string) error {
	if err := zkpath.Check(path); err != nil {
		return err
	}
	return s.makeDir(ctx, s.c.FullPath(path), Persistent)
}

// makeDir makes sure that there is a znode at the full path, and at those above it. A
// Container may be removed by the server again before it is used.
func (s *Session) makeDir(ctx context.Context, path string, mode Mode) error {
	err := checkMulti(&zk.CreateRequest{Path: path, Acl: s.c.acl})
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	// Up to what is there, and down again: most often path itself is all that is missing,
	// and one request is enough. What was made above may be removed before it is used, so
	// this can take more steps than there are levels. But without a limit a server that
	// misbehaves would keep it going forever.
	steps := 8 + 2*strings.Count(path, "/")
	for at := path; steps > 0; steps-- {
		switch err = s.makeNode(ctx, at, mode); {
		case err == nil && at == path:
			return nil
		case err == nil:
			at = below(path, at)
		case errors.Is(err, zk.ErrNoNode) && at != "/":
			at = zkpath.Parent(at)
		default:
			return fmt.Errorf("make directory %s: %w", path, err)
		}
	}
	return fmt.Errorf("make directory %s: it is removed as soon as it is made: %w", path, zk.ErrNoNode)
}

// makeNode creates path unless it is there. It is repeated until it is answered: to create
// it twice does no harm, and it does not matter which client has created it.
func (s *Session) makeNode(ctx context.Context, path string, mode Mode) error {
	p := purpose{"create", s.c.relative(path)}
	err := ErrUnimplemented
	if mode == Container {
		err = s.untilAnswered(ctx, p, frameOf(&zk.CreateTTLRequest{Path: path, Acl: s.c.acl, Flags: zk.FlagContainer})).err
	}
	if errors.Is(err, ErrUnimplemented) { // or the server is too old for containers
		err = s.untilAnswered(ctx, p, frameOf(&zk.CreateRequest{Path: path, Acl: s.c.acl})).err
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// below returns the path one level down from at, which is above path, towards
// path.
func below(path, at string) string {
	from := len(at)
	if at != "/" {
		from++
	}
	if i := strings.IndexByte(path[from:], '/'); i >= 0 {
		return path[:from+i]
	}
	return path
}

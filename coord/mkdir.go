package coord

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// MakeDir makes sure that the full path is there, as a container where the
// server has them: a znode that it removes some time after its last child. What
// is missing above is made in the same way. It is for those who write recipes,
// who must be prepared for path to be removed again before they use it.
func (s *Session) MakeDir(ctx context.Context, path string) error {
	err := s.makeNode(ctx, path)
	// What was made above may be removed before it is used. A server that does so
	// again and again is not to be believed.
	for range 8 {
		if !errors.Is(err, zk.ErrNoNode) || path == "/" {
			break
		}
		if err := s.MakeDir(ctx, parent(path)); err != nil {
			return err
		}
		err = s.makeNode(ctx, path)
	}
	if err != nil {
		return fmt.Errorf("make directory %s: %w", path, err)
	}
	return nil
}

// makeNode creates path unless it is there.
func (s *Session) makeNode(ctx context.Context, path string) error {
	_, err := Retry(ctx, s, func(conn *zk.Conn) (string, error) {
		return conn.CreateContainer(path, nil, zk.FlagContainer, s.c.opts.ACL)
	})
	if err != nil && Refused(err) && !named(err) {
		// A code without a name: the server is too old for containers.
		_, err = Retry(ctx, s, func(conn *zk.Conn) (string, error) {
			return conn.Create(path, nil, 0, s.c.opts.ACL)
		})
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

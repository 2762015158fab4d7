package harness

import (
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// Guard returns the guard of h as a request for a connection that knows of no
// [coord.Op]: an operator's, or one of another program.
func Guard(h *coord.Hold) *zk.CheckVersionRequest {
	return &zk.CheckVersionRequest{Path: strings.TrimPrefix(h.Guard().String(), "check "), Version: -1}
}

package harness

import (
	"reflect"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// Guard returns the guard of h as a request for a connection that knows of no
// [coord.Op]: an operator's, or one of another program. An Op prints the path of its
// Hold, and not of the znode that it checks, which nobody else needs.
func Guard(h *coord.Hold) *zk.CheckVersionRequest {
	return &zk.CheckVersionRequest{Path: reflect.ValueOf(h.Guard()).FieldByName("path").String(), Version: -1}
}

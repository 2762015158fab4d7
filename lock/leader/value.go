package leader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/claim"
)

// newValue returns what a term publishes, which begins as value.
func newValue(value []byte) *claim.Data { return claim.NewData(bytes.Clone(value)) }

// errOver says that nothing will be published any more.
var errOver = errors.New("leader: over")

// publish makes value the newest of v, and waits until it is announced or refused, until
// ctx ends, or until over is closed, with errOver.
func publish(ctx context.Context, v *claim.Data, value []byte, over <-chan struct{}) error {
	gen := v.Set(bytes.Clone(value))
	for {
		decided, moved, err := v.Outcome(gen)
		if decided {
			return err
		}
		select {
		case <-moved:
		case <-over:
			return errOver
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// An announcement is what a leader says of itself in the znode beside the directory.
type announcement struct {
	node  string // the name of its znode in the queue
	token coord.Token
	label string
	value []byte
}

// announcementPath returns the path of the announcement for the election in dir.
func announcementPath(dir string) string { return dir + "-leader" }

// encode returns a as the data of a znode: a line, and then the value.
func (a announcement) encode() []byte {
	return append(fmt.Appendf(nil, "%s %#x %q\n", a.node, int64(a.token), a.label), a.value...)
}

// decode returns the announcement that data are, and false if they are none. The value is
// part of data.
func decode(data []byte) (a announcement, ok bool) {
	line, value, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return announcement{}, false
	}
	node, rest, _ := strings.Cut(string(line), " ")
	token, label, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(token, 0, 64)
	if err != nil || n <= 0 || node == "" {
		return announcement{}, false
	}
	if label, err = strconv.Unquote(label); err != nil {
		return announcement{}, false
	}
	return announcement{node, coord.Token(n), label, value}, true
}

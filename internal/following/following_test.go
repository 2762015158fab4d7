package following

import (
	"context"
	"errors"
	"testing"

	"github.com/zkcoord/zkcoord/event"
)

// End ends the context of the stream that was begun. One that was not begun is never ready,
// and can be ended.
func TestEnd(t *testing.T) {
	var ctx context.Context
	var path string
	stream := event.Ended[event.Snapshot](errors.New("over"))
	z := Begin(func(c context.Context, p string) *event.Stream[event.Snapshot] {
		ctx, path = c, p
		return stream
	}, "/a")
	if path != "/a" || ctx.Err() != nil || z.Updates() != stream.Updates() || z.Done() != stream.Done() {
		t.Errorf("%q, %v", path, ctx.Err())
	}
	if z.End(); ctx.Err() == nil {
		t.Error("not ended")
	}
	z = nil
	if z.End(); z.Updates() != nil || z.Done() != nil {
		t.Error("none is ready")
	}
}

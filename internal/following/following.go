package following

import (
	"context"

	"github.com/zkcoord/zkcoord/event"
)

// A Znode is a stream of one znode, until its owner needs that no more. A nil one is none:
// its channels are nil, too, and it need not be ended.
type Znode struct {
	*event.Stream[event.Snapshot]
	stop context.CancelFunc
}

// Begin begins to follow the znode at path with watch.
func Begin(watch func(ctx context.Context, path string) *event.Stream[event.Snapshot], path string) *Znode {
	ctx, stop := context.WithCancel(context.Background())
	return &Znode{watch(ctx, path), stop}
}

// Updates is that of the stream.
func (z *Znode) Updates() <-chan event.Snapshot {
	if z == nil {
		return nil
	}
	return z.Stream.Updates()
}

// Done is that of the stream.
func (z *Znode) Done() <-chan struct{} {
	if z == nil {
		return nil
	}
	return z.Stream.Done()
}

// End ends the stream.
func (z *Znode) End() {
	if z != nil {
		z.stop()
	}
}

package config

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/quote"
)

// ErrOverflow means that a number does not fit in 64 bits: the sum of an addition, which was
// not carried out, or one that another program has stored.
var ErrOverflow = errors.New("config: the number does not fit in 64 bits")

// A Counter is a whole number that many clients add to. Each addition counts once, however
// many answers are lost. It is a [Value] in a format that others share: decimal digits, with
// a minus sign before a negative number, as the Counter of kazoo stores an int. A znode with
// empty data is zero, as kazoo makes it.
//
// Anything else is refused and never changed. That holds for the counters of Curator:
// SharedCount, with four bytes, and DistributedAtomicLong, with eight, are not text. If these
// bytes happen to be digits they cannot be told apart, and the text counts: the four bytes
// of 825373492 are "1234". So let no program of Curator use the path of a Counter. Curator
// for its part would take four or eight digits for its own number.
//
// A Counter suits what is counted a few times a second. An addition is a read and a write, as
// with [Value.Modify], and is made again if another client was faster.
type Counter struct{ v *Value[int64] }

// NewCounter returns the counter at path, below the chroot of c. It asks nothing of the
// ensemble.
func NewCounter(c *coord.Client, path string) *Counter {
	return &Counter{New(c, path, Codec[int64]{Decode: decodeCount, Encode: encodeCount})}
}

// Add adds delta, which may be negative, and returns the sum. If nothing is stored yet, it
// begins with zero. With an error nothing was added, unless it is [coord.ErrUnknown]: it is
// [ErrOverflow], or has the causes and the meaning that those of [Value.Modify] have, as has
// when.
func (n *Counter) Add(ctx context.Context, delta int64, when ...coord.Op) (int64, error) {
	u, err := n.v.modify(ctx, "add", when, func(old int64) (int64, error) {
		if delta > 0 && old > math.MaxInt64-delta || delta < 0 && old < math.MinInt64-delta {
			return 0, fmt.Errorf("%w: %d and %d", ErrOverflow, old, delta)
		}
		return old + delta, nil
	})
	return u.Value, err
}

// Get returns the number, no older than the call, as [Value.Read] does. If nothing is stored,
// that is zero and no error.
func (n *Counter) Get(ctx context.Context) (int64, error) {
	u, err := n.v.read(ctx, "get")
	if errors.Is(err, ErrMissing) {
		return 0, nil
	}
	return u.Value, err
}

// Watch follows the number, as [Value.Watch] does. While nothing is stored, an update has the
// error [ErrMissing] and, as its Value, the last number, zero if there was none.
func (n *Counter) Watch(ctx context.Context) *event.Stream[Update[int64]] { return n.v.Watch(ctx) }

func encodeCount(n int64) ([]byte, error) { return strconv.AppendInt(nil, n, 10), nil }

// decodeCount takes only what encodeCount makes, and nothing at all for zero. The less it
// takes, the fewer are the bytes of others that it could misread.
func decodeCount(data []byte) (int64, error) {
	if len(data) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%w: %s", ErrOverflow, quote.Number(data))
	case err != nil || strconv.FormatInt(n, 10) != string(data):
		hint := ""
		if len(data) == 4 || len(data) == 8 {
			hint = "; Curator's counters have as many bytes, and cannot be shared"
		}
		return 0, fmt.Errorf("not a whole number in decimal digits: %s%s", quote.Number(data), hint)
	}
	return n, nil
}

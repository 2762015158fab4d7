package config

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// What an error of this package can be, besides those of package coord. Test for
// these with [errors.Is].
var (
	// ErrMissing means that nothing is stored: there is no znode, or its data are
	// null, as those of a directory. It is also zk.ErrNoNode.
	ErrMissing = fmt.Errorf("config: nothing is stored: %w", zk.ErrNoNode)

	// ErrUnknown means that the outcome of a change could not be learned: it may
	// have been carried out, once, or not; or it may still be, as long as the
	// ensemble keeps the session in which it was sent.
	ErrUnknown = errors.New("config: the change may or may not have been carried out")
)

// errExit is why a stream ends whose goroutine its decoder has ended.
var errExit = errors.New("config: the decoder called runtime.Goexit")

// errVersion is why a znode cannot be changed on condition of its version.
var errVersion = errors.New("config: the znode has been changed four billion times, and its version is -1, " +
	"which would mean any; delete it and create it anew")

// errStale means that nothing was changed, because something is not as it was
// found.
var errStale = errors.New("config: changed by someone else since it was read")

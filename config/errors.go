package config

import (
	"errors"

	"github.com/zkcoord/zkcoord/coord"
)

// ErrMissing means that nothing is stored: there is no znode, or its data are null,
// as those of a directory. It is also [coord.ErrNoNode]. Test for it with [errors.Is].
var ErrMissing error = missing{}

type missing struct{}

func (missing) Error() string { return "config: nothing is stored" }

func (missing) Unwrap() error { return coord.ErrNoNode }

// errVersion is why a znode cannot be changed on condition of its version.
var errVersion = errors.New("config: the znode has been changed four billion times, and its version is -1, " +
	"which would mean any; delete it and create it anew")

// errStale means that nothing was changed, because something is not as it was
// found.
var errStale = errors.New("config: changed by someone else since it was read")

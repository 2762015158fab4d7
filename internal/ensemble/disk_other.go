//go:build !linux

package ensemble

import "errors"

// SlowDisk returns an error.
func (e *Ensemble) SlowDisk(*Node) (heal func(), err error) { return nil, errors.ErrUnsupported }

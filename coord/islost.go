package coord

import "errors"

// IsLost reports whether err says that something that was held, or sought, was
// lost against its owner's will: with its session, by the deletion of its znode, or
// by a revocation. To acquire it again makes sense.
func IsLost(err error) bool {
	return errors.Is(err, ErrExpired) || errors.Is(err, ErrDeleted) || errors.Is(err, ErrRevoked)
}

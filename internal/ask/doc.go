// Package ask lets the recipes of this module start requests in a session of package
// coord without waiting for the answers: several in one round trip, and each answer as one
// more case of a select. No request costs a goroutine.
//
// It is a package of its own, and not part of coord, so that programs see only requests
// that obey a context, and that are repeated where that does no harm. Nothing here is
// repeated.
package ask

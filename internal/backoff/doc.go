// Package backoff has the pauses between attempts at something that has failed.
package backoff

// Package inbox has a queue that takes any number of messages for one goroutine.
package inbox

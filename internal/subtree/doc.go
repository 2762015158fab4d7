// Package subtree follows the znodes below a path: the children of a directory
// with their data, or all that is below it. What a recipe makes of them goes to a
// stream.
//
// What a change costs does not depend on how large a directory is, on servers from 3.6
// on, once the directory has changed a first time: an event says who has come or gone, one
// question makes sure that this is all, and a newcomer is read. See package watch.
package subtree

// Package subtree follows the znodes below a path: the children of a directory
// with their data, or all that is below it. What a recipe makes of them goes to a
// stream.
package subtree

// Package zkpath has the rules for the paths of znodes.
package zkpath

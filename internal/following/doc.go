// Package following has what the driver of a recipe follows for a while.
package following

// Package recipes holds tests of what all recipes have in common: that what is held
// stays held when the context ends, and that streams and holds end with one
// error. It has no code.
package recipes

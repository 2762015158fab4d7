// Package recipes holds tests of what all recipes have in common: that what is held
// stays held whatever becomes of the context, and that streams and holds end with one
// error. It has no code.
package recipes

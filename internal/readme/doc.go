// Package readme has no code. Its test compiles the snippets of the README and of docs,
// each by itself, and holds them to the examples, which are run.
package readme

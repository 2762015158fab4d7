// Package readme has no code. Its tests compile the snippets of the README and of docs,
// each by itself, hold them to the examples, which are run, and follow the links.
package readme

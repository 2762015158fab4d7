// Package explore walks through every state that a model of a machine and of
// what surrounds it can be in, for tests.
package explore

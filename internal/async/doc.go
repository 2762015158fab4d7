// Package async runs a function elsewhere and hands back its result.
package async

// Package server runs the servers that clients are measured against, and reads what a
// client costs them, from outside: from the kernel and from the server's own counters.
// It works on Linux only.
package server

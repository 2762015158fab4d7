// Package locktest holds what every lock of this module must pass: one table of
// scenarios, run against the in-process server in virtual time and against a
// real server, so that the one is held to the other; every fault at every frame;
// and, on real servers only, partitions and failing servers. It knows no lock.
package locktest

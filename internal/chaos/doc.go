// Package chaos hurts a real ensemble and its clients, and checks what the clients have
// recorded.
//
//	make chaos CHAOS=10m NODES=5
//
// # Who does what
//
// The clients are processes of their own, because they are killed and stopped: the program
// starts itself again, see [Main]. Each has one to three sessions and a few actors, each of
// which uses one recipe again and again: see roles.go. What they do they record in the
// format of package history, a file for each life of each process, and all by one clock
// that nobody can set.
//
// The nemesis has three hands, each with a random order of its own, which comes from the
// seed: one for servers and the links between them, one for clients, and one that stops
// those that hold a mutex until the next holds it. They strike at the same time. At the
// servers it strikes once at a time, and waits until they have come together: a server that
// is wiped must not be the only one that had something, or the ensemble breaks its own
// promises.
//
// Holders write with their token to a store outside of ZooKeeper, and with their guard to a
// znode. A stopped holder does so at once when it wakes, before it looks at what it holds.
//
// # What is checked
//
// The merged history, by [history.Check]. After the last fault every actor must get done
// what it wants; all that is followed must come to what is stored; in the end there must be
// no watch at the servers and no znode of a recipe.
//
// # What cannot be had
//
// A slow disk takes the kernel's first form of control groups; elsewhere there is none.
// Where the kernel cannot delay packets they queue for a slow line. Without root there is
// no run: servers that listen on one address cannot be cut off from each other.
package chaos

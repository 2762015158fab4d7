package chaos

import "fmt"

// A role is what one actor of a client process does, again and again.
type role string

// The roles. Each but the last has actors in several processes.
const (
	locker   role = "lock"      // holds one of two mutexes
	unqueuer role = "unqueued"  // holds a lock.Unqueued
	sharer   role = "rwlock"    // reads or writes, and downgrades at times
	leads    role = "leader"    // keeps a candidacy, publishes, hands on
	permit   role = "semaphore" // holds one of three permits
	pair     role = "all"       // holds two of three mutexes at a time
	enters   role = "barrier"   // enters and leaves with two others
	member   role = "members"   // keeps a membership, and changes its data
	modifies role = "config"    // modifies and stores a value
	counts   role = "counter"   // adds to a counter
	works    role = "queue"     // puts items, takes and does them
	sleeper  role = "wake"      // holds a mutex, is stopped, and writes at once when it wakes

	// These follow what the others do.
	views   role = "views"   // the members
	follows role = "follows" // the value and the counter
	sees    role = "sees"    // who leads
)

// A client process is one of three kinds, by its number.
const sleepers = 3 // the last of them only sleep

// roles returns what the actors of a client process do, of so many processes.
func roles(id, clients int) []role {
	if id >= clients-sleepers {
		return []role{sleeper}
	}
	all := []role{locker, sharer, leads, permit, pair, enters, member, modifies, counts, works, unqueuer}
	// So many that each has at least three actors, as the barrier needs.
	others := clients - sleepers
	each := max(3, (3*len(all)+others-1)/others)
	var mine []role
	for i := range min(each, len(all)) {
		mine = append(mine, all[(id*each+i)%len(all)])
	}
	return append(mine, []role{views, follows, sees}[id%3])
}

// memberID is what a client process is called in groups, in every life.
func memberID(id int) string { return fmt.Sprintf("c%02d", id) }

// processName names a life of a client process.
func processName(id, life int) string { return fmt.Sprintf("c%02d.%d", id, life) }

// actorName names an actor in a history.
func actorName(process string, r role) string { return process + "/" + string(r) }

// alias returns the name under which an actor holds the second mutex of a pair: in a
// history an actor does one thing after another.
func alias(actor string) string { return actor + "+" }

// actors returns the names of all the actors of a life of a client process.
func actors(id, life, clients int) (names []string) {
	for _, r := range roles(id, clients) {
		name := actorName(processName(id, life), r)
		names = append(names, name)
		if r == pair {
			names = append(names, alias(name))
		}
	}
	return names
}

// Below this path is all that the run stores.
const root = "/chaos"

// paths are those of what the actors share.
var (
	lockPaths     = []string{root + "/lock-0", root + "/lock-1"}
	pairPaths     = []string{root + "/pair-0", root + "/pair-1", root + "/pair-2"}
	unqueuedPath  = root + "/unqueued"
	sharedPath    = root + "/shared"
	leaderPath    = root + "/leader"
	semaphorePath = root + "/semaphore"
	barrierPath   = root + "/barrier"
	groupPath     = root + "/group"
	wakePath      = root + "/wake"
	valuePath     = root + "/value"
	counterPath   = root + "/counter"
	queuePath     = root + "/queue"
)

const (
	permits = 3
	parties = 3 // of the barrier
)

// guardedPath is where the holder of what is at path writes with its guard.
func guardedPath(path string) string { return path + "-guarded" }

// kept are the znodes that are made beforehand, and stay.
func kept() (paths []string) {
	paths = append(paths, root, queuePath, queuePath+"/items", queuePath+"/taken", queuePath+"/results", queuePath+"/ids")
	for _, path := range append([]string{unqueuedPath, sharedPath, leaderPath, wakePath}, append(lockPaths, pairPaths...)...) {
		paths = append(paths, guardedPath(path))
	}
	return paths
}

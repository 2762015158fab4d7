package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// A mutant is a fault that is put into a file.
type mutant struct {
	name     string // of its own in the package
	file     string // from the root of the module
	old, new string // of what is in the file, once, and what stands in its place
	breaks   string // what does not hold any more
}

// all returns all mutants.
func all() []mutant {
	return slices.Concat(inSession, inRequests, inWatching, inQueueing, inRecipes, inValues, inTools)
}

// id returns what tells m from all others.
func (m mutant) id() string { return m.dir() + "/" + m.name }

// dir returns the directory of the package that m changes.
func (m mutant) dir() string { return path.Dir(m.file) }

// apply returns the text of m's file with the fault.
func (m mutant) apply(text string) (string, error) {
	if n := strings.Count(text, m.old); n != 1 {
		return "", fmt.Errorf("%s: in %s this is %d times and not once: %s", m.id(), m.file, n, m.old)
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}

// users are the packages whose tests are run after those of the package itself, those first
// that are most likely to catch what they do not.
var users = map[string][]string{
	"coord":             {"lock", "members", "config", "internal/recipes"},
	"coord/coordtest":   {"coord", "internal/watch", "members"},
	"event":             {"internal/watch", "coord", "config"},
	"internal/async":    {"internal/queue", "members", "lock"},
	"internal/backoff":  {"internal/watch", "coord", "config"},
	"internal/claim":    {"members", "lock", "internal/recipes"},
	"internal/explore":  nil,
	"internal/harness":  nil,
	"internal/inbox":    {"internal/watch", "coord"},
	"internal/jute":     {"coord", "coord/coordtest"},
	"internal/queue":    {"lock", "rwlock", "lock/leader", "internal/recipes"},
	"internal/subtree":  {"config", "members", "lock"},
	"internal/unqueued": {"lock"},
	"internal/watch":    {"coord", "internal/subtree", "lock"},
	"internal/zkpath":   {"coord"},
	"lock":              {"internal/recipes"},
	"lock/leader":       {"internal/recipes"},
	"lock/semaphore":    {"internal/recipes"},
	"members":           {"internal/recipes"},
	"members/barrier":   {"internal/recipes"},
	"rwlock":            {"internal/recipes"},
	"config":            {"internal/recipes"},
}

// suites returns the packages whose tests are run with m.
func (m mutant) suites() []string { return append([]string{m.dir()}, users[m.dir()]...) }

// sample returns n of list: for each seed those that come next, so that every one of them
// has its turn. The order has nothing to do with that of list.
func sample(list []mutant, n, seed int) []mutant {
	list = slices.Clone(list)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	picked := make(map[int]mutant)
	for k := range min(n, len(list)) {
		i := (seed*n + k) % len(list)
		picked[i] = list[i]
	}
	return slices.SortedFunc(maps.Values(picked), func(a, b mutant) int { return strings.Compare(a.id(), b.id()) })
}

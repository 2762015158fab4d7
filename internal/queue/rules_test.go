package queue

// A rule is one world to be walked through to the end.
type rule struct {
	name    string
	n       int    // contenders
	kinds   string // what each is, r or w; without, a mutex's
	try     int    // so many of them, the last ones, will not wait
	budget  budget // the faults in it, in every distribution over it
	batons  int    // so many of them, the first ones, have one
	late    bool   // the others get one if anybody is before them
	near    bool   // they are neighbors
	foreign bool   // a contender of another make is first, and leaves some time
	latch   bool   // a participant of another recipe is there, and leaves some time
	first   int32  // the first number that the server hands out
	deep    bool   // too large for every day
}

// mode returns the mode of contender i.
func (r *rule) mode(i int) Mode {
	if r.kinds == "" {
		return Lock
	}
	return map[byte]Mode{'r': Read, 'w': Write}[r.kinds[i]]
}

// id returns the id of contender i.
func (r *rule) id(i int) string {
	if i < r.batons {
		return modelIDs[i] + batonMark
	}
	if r.late {
		return modelIDs[i] + lateMark
	}
	return modelIDs[i]
}

var rules = []rule{
	{name: "no fault", n: 3},
	{name: "operator", n: 3, budget: budget{delete: 1}},
	{name: "mark", n: 3, budget: budget{mark: 1}},
	{name: "loss", n: 3, budget: budget{loss: 1}},
	{name: "cancel", n: 3, budget: budget{cancel: 1}},
	{name: "expiry", n: 3, budget: budget{expire: 1}},
	{name: "refusal", n: 3, budget: budget{refuse: 1}},
	{name: "try", n: 3, try: 2},
	{name: "last numbers", n: 3, first: 1<<31 - 2, budget: budget{cancel: 1}},
	{name: "losses", n: 2, budget: budget{loss: 2}},
	{name: "loss and operator of two", n: 2, budget: budget{loss: 1, delete: 1}},
	{name: "try and losses", n: 2, try: 1, budget: budget{loss: 2}},
	{name: "foreign, loss", n: 2, foreign: true, budget: budget{loss: 1}},
	{name: "foreign, operator", n: 2, foreign: true, budget: budget{delete: 1}},
	{name: "another recipe", n: 3, latch: true},
	{name: "another recipe, loss", n: 2, latch: true, budget: budget{loss: 1}},
	{name: "another recipe, try and cancel", n: 2, try: 1, latch: true, budget: budget{cancel: 1}},
	{name: "reaped", n: 2, budget: budget{reap: 2, loss: 1, delete: 1}},
	{name: "refusals", n: 2, budget: budget{refuse: 2, cancel: 1}},
	{name: "all but refusal and loss", n: 2, budget: budget{cancel: 1, expire: 1, delete: 1, mark: 1}},

	{name: "batons", n: 3, batons: 3},
	{name: "batons of two, operator", n: 2, batons: 2, budget: budget{delete: 1}},
	{name: "batons, mark", n: 3, batons: 3, budget: budget{mark: 1}},
	{name: "batons of two, loss", n: 2, batons: 2, budget: budget{loss: 1}},
	{name: "batons of two, cancel", n: 2, batons: 2, budget: budget{cancel: 1}},
	{name: "batons, expiry", n: 3, batons: 3, budget: budget{expire: 1}},
	{name: "batons, refusal", n: 3, batons: 3, budget: budget{refuse: 1}},
	{name: "batons of two among three", n: 3, batons: 2},
	{name: "batons of writers", n: 2, kinds: "ww", batons: 2, budget: budget{share: 1, loss: 1}},
	{name: "batons of readers and a writer", n: 3, kinds: "rrw", batons: 3},

	{name: "late batons", n: 3, late: true},
	{name: "late batons of two, operator", n: 2, late: true, budget: budget{delete: 1}},
	{name: "late batons of two, loss", n: 2, late: true, budget: budget{loss: 1}},
	{name: "late batons of two, cancel and refusal", n: 2, late: true, budget: budget{cancel: 1, refuse: 1}},
	{name: "late batons, expiry", n: 3, late: true, budget: budget{expire: 1}},
	{name: "late batons and one from the start", n: 3, late: true, batons: 1},
	{name: "late batons of writers", n: 2, kinds: "ww", late: true, budget: budget{share: 1, loss: 1}},

	{name: "neighbors", n: 3, near: true},
	{name: "neighbors, cancel", n: 3, near: true, budget: budget{cancel: 1}},
	{name: "neighbors, operator", n: 3, near: true, budget: budget{delete: 1}},
	{name: "neighbors, loss", n: 2, near: true, budget: budget{loss: 1, delete: 1}},
	{name: "neighbors, expiry", n: 3, near: true, budget: budget{expire: 1}},
	{name: "neighbors, refusal", n: 3, near: true, budget: budget{refuse: 1}},
	{name: "neighbors, foreign", n: 2, near: true, foreign: true, budget: budget{cancel: 1}},
	{name: "two neighbors with batons, operator", n: 2, near: true, batons: 2, budget: budget{delete: 1}},
	{name: "neighbors that write", n: 3, kinds: "www", near: true, budget: budget{share: 1}},
	{name: "a neighbor that reads and one that writes, cancel", n: 2, kinds: "rw", near: true, budget: budget{cancel: 1}},
	{name: "a neighbor that writes and one that reads", n: 2, kinds: "rw", near: true, budget: budget{share: 1}},

	{name: "two readers and a writer", n: 3, kinds: "rrw", budget: budget{share: 1}},
	{name: "three writers", n: 3, kinds: "www", budget: budget{share: 1}},
	{name: "readers alone", n: 2, kinds: "rr", budget: budget{loss: 1, delete: 1}},
	{name: "reader and writer, loss", n: 2, kinds: "rw", budget: budget{share: 1, loss: 1}},
	{name: "a writer, losses and operator", n: 1, kinds: "w", budget: budget{share: 1, loss: 2, delete: 1, expire: 1}},
	{name: "reader and writer, cancel and expiry", n: 2, kinds: "rw", budget: budget{share: 1, cancel: 1, expire: 1}},
	{name: "reader and writer, foreign", n: 2, kinds: "rw", foreign: true, budget: budget{share: 1, delete: 1}},
	{name: "a writer tries", n: 2, kinds: "rw", try: 1, budget: budget{loss: 1}},
	{name: "a reader tries", n: 2, kinds: "wr", try: 1, budget: budget{share: 1, loss: 1}},
	{name: "two writers, loss", n: 2, kinds: "ww", budget: budget{share: 2, loss: 1}},
	{name: "two writers, refusal and mark", n: 2, kinds: "ww", budget: budget{share: 1, refuse: 1, mark: 1}},

	{name: "a reader and two writers, all downgrade", n: 3, kinds: "rww", deep: true, budget: budget{share: 2}},
	{name: "three writers, all downgrade", n: 3, kinds: "www", deep: true, budget: budget{share: 3}},
	{name: "two readers and a writer, loss", n: 3, kinds: "rrw", deep: true, budget: budget{share: 1, loss: 1}},
	{name: "two readers and a writer, expiry", n: 3, kinds: "rrw", deep: true, budget: budget{share: 1, expire: 1}},
	{name: "a reader and two writers, loss", n: 3, kinds: "rww", deep: true, budget: budget{share: 1, loss: 1}},
	{name: "a reader and two writers, cancel", n: 3, kinds: "rww", deep: true, budget: budget{share: 1, cancel: 1}},
	{name: "a reader and two writers, operator", n: 3, kinds: "rww", deep: true, budget: budget{share: 1, delete: 1}},
	{name: "reader and writer, loss and operator", n: 2, kinds: "rw", deep: true, budget: budget{share: 1, loss: 1, delete: 1}},
	{name: "reader and writer, losses", n: 2, kinds: "rw", deep: true, budget: budget{share: 1, loss: 2, delete: 1}},
	{name: "reader and writer, all but loss", n: 2, kinds: "rw", deep: true, budget: budget{share: 1, cancel: 1, expire: 1, delete: 1, mark: 1}},
	{name: "two writers, losses", n: 2, kinds: "ww", deep: true, budget: budget{share: 2, loss: 2, delete: 1}},

	{name: "foreign", n: 2, foreign: true, deep: true, budget: budget{loss: 1, delete: 1}},
	{name: "batons, operator", n: 3, batons: 3, deep: true, budget: budget{delete: 1}},
	{name: "batons, loss", n: 3, batons: 3, deep: true, budget: budget{loss: 1}},
	{name: "batons of two among three, cancel", n: 3, batons: 2, deep: true, budget: budget{cancel: 1}},
	{name: "a reader and two writers", n: 3, kinds: "rww", deep: true, budget: budget{share: 1}},
	{name: "losses and operator of two", n: 2, deep: true, budget: budget{loss: 2, delete: 1}},
	{name: "batons, cancel", n: 3, batons: 3, deep: true, budget: budget{cancel: 1}},
	{name: "batons of three writers", n: 3, kinds: "www", batons: 3, deep: true, budget: budget{share: 1}},
	{name: "neighbors with batons, operator", n: 3, near: true, batons: 2, deep: true, budget: budget{delete: 1}},
	{name: "neighbors that read, and a writer", n: 3, kinds: "rrw", near: true, deep: true, budget: budget{cancel: 1}},
	{name: "neighbors that write, and a reader", n: 3, kinds: "rww", near: true, deep: true, budget: budget{share: 1}},
	{name: "batons, loss and operator", n: 3, batons: 3, deep: true, budget: budget{loss: 1, delete: 1}},
	{name: "batons, loss and expiry", n: 3, batons: 3, deep: true, budget: budget{loss: 1, expire: 1}},
	{name: "batons, loss and cancel", n: 3, batons: 3, deep: true, budget: budget{loss: 1, cancel: 1}},
	{name: "batons, cancels", n: 3, batons: 3, deep: true, budget: budget{cancel: 2}},
	{name: "batons, operator and cancel", n: 3, batons: 3, deep: true, budget: budget{delete: 1, cancel: 1}},
	{name: "batons of two writers, losses and operator", n: 2, kinds: "ww", batons: 2, deep: true, budget: budget{share: 1, loss: 1, delete: 1}},

	{name: "late batons, operator", n: 3, late: true, deep: true, budget: budget{delete: 1}},
	{name: "late batons, loss", n: 3, late: true, deep: true, budget: budget{loss: 1}},
	{name: "late batons, cancel", n: 3, late: true, deep: true, budget: budget{cancel: 1}},
	{name: "late batons, mark", n: 3, late: true, deep: true, budget: budget{mark: 1}},
	{name: "late batons, refusal", n: 3, late: true, deep: true, budget: budget{refuse: 1}},
	{name: "late batons of neighbors, cancel", n: 3, near: true, late: true, deep: true, budget: budget{cancel: 1}},
	{name: "late batons of a reader and two writers", n: 3, kinds: "rww", late: true, deep: true, budget: budget{share: 1}},

	{name: "neighbors, loss and cancel", n: 3, near: true, deep: true, budget: budget{loss: 1, cancel: 1}},
	{name: "neighbors, loss and operator", n: 3, near: true, deep: true, budget: budget{loss: 1, delete: 1}},
	{name: "neighbors, cancels", n: 3, near: true, deep: true, budget: budget{cancel: 2}},

	{name: "all", n: 2, deep: true, budget: budget{loss: 1, cancel: 1, expire: 1, delete: 1, mark: 1, refuse: 1}},
	{name: "cancels", n: 3, deep: true, budget: budget{cancel: 2}},
	{name: "loss and operator", n: 3, deep: true, budget: budget{loss: 1, delete: 1}},
	{name: "loss and expiry", n: 3, deep: true, budget: budget{loss: 1, expire: 1}},
	{name: "loss and cancel", n: 3, deep: true, budget: budget{loss: 1, cancel: 1}},
	{name: "loss and try", n: 3, try: 1, deep: true, budget: budget{loss: 1}},
	{name: "losses, cancel and try", n: 2, try: 1, deep: true, budget: budget{loss: 2, cancel: 1}},
	{name: "operator and try", n: 3, try: 2, deep: true, budget: budget{delete: 1}},
	{name: "operator and mark", n: 3, deep: true, budget: budget{delete: 1, mark: 1}},
	{name: "operator and expiry", n: 3, deep: true, budget: budget{delete: 1, expire: 1}},
	{name: "refusal and cancel", n: 3, deep: true, budget: budget{refuse: 1, cancel: 1}},
}

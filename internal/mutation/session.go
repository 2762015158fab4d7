package main

// Faults in how package coord keeps a session and what is held in it.
var inSession = []mutant{
	{"margin", "coord/timeout.go",
		`* 16 / 25`,
		`* 24 / 25`,
		"what is held is relied on for 0.96 of the timeout after a renewal, instead of 0.64"},
	{"lease-from-answer", "coord/lease.go",
		`l.renewedUnder, l.took = from, l.timeout`,
		`l.renewedUnder, l.took = now, l.timeout`,
		"a lease counts from the answer to a renewal and not from its writing"},
	{"lease-after-silence", "coord/lease.go",
		`; from.after(limit) {`,
		`; from.after(limit) && r.acked.never() {`,
		"a renewal counts in full though the client was silent before it"},
}

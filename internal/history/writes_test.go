package history

import "testing"

// A store takes no write after one with a greater token.
func TestFencing(t *testing.T) {
	const first = `
		0 b call /store f=fenced token=6
		1 b ok
		`
	check(t, []scene{
		{"in order", "", first + `
			2 a call /store f=fenced token=7
			3 a ok`},
		{"stale", "fencing", first + `
			2 a call /store f=fenced token=5
			3 a ok`},
		{"stale, and refused", "", first + `
			2 a call /store f=fenced token=5
			3 a refused`},
		{"at the same time", "", `
			0 a call /store f=fenced token=5
			0 b call /store f=fenced token=6
			1 b ok
			2 a ok`},
		{"of different stores", "", first + `
			2 a call /other f=fenced token=5
			3 a ok`},
	})
}

// No guarded write is done after another has acquired, and none is refused while the lock is
// held.
func TestGuards(t *testing.T) {
	const next = `
		0 a ask lock /l
		0 b ask lock /l
		1 a acquired token=5
		2 a lost
		3 b acquired token=6
		`
	check(t, []scene{
		{"of the holder", "", next + `
			4 b call op=2 /x f=guarded token=6
			5 b ok op=2`},
		{"of the former holder", "guards", next + `
			4 a call op=2 /x f=guarded token=5
			5 a ok op=2`},
		{"of the former holder, and refused", "", next + `
			4 a call op=2 /x f=guarded token=5
			5 a refused op=2 err=not_held`},
		{"under way when the next acquires", "", `
			0 a ask lock /l
			0 b ask lock /l
			1 a acquired token=5
			2 a call op=2 /x f=guarded token=5
			2 a lost
			3 b acquired token=6
			5 a ok op=2`},
		{"refused while it is held", "guards", `
			0 a ask lock /l
			1 a acquired token=5
			2 a call op=2 /x f=guarded token=5
			3 a refused op=2 err=not_held
			4 a release`},
		{"refused for another reason", "", `
			0 a ask lock /l
			1 a acquired token=5
			2 a call op=2 /x f=guarded token=5
			3 a refused op=2 err=bad_version
			4 a release`},
		{"of nobody", "malformed", `
			0 a call /x f=guarded token=5
			1 a ok`},
		{"of a reader beside readers", "", `
			0 a ask rwlock /l f=read
			0 b ask rwlock /l f=read
			1 a acquired token=5
			2 b acquired token=6
			3 a call op=2 /x f=guarded token=5
			4 a ok op=2`},
		{"of a reader after a writer", "guards", `
			0 a ask rwlock /l f=read
			0 b ask rwlock /l f=write
			1 a acquired token=5
			2 a lost
			3 b acquired token=6
			4 a call op=2 /x f=guarded token=5
			5 a ok op=2`},
		{"of a permit", "guards", `
			0 a ask semaphore /s n=1
			0 b ask semaphore /s n=1
			1 a acquired token=5
			2 a lost
			3 b acquired token=6
			4 a call op=2 /x f=guarded token=5
			5 a ok op=2`},
		{"of a permit beside another", "", `
			0 a ask semaphore /s n=2
			0 b ask semaphore /s n=2
			1 a acquired token=5
			3 b acquired token=6
			4 a call op=2 /x f=guarded token=5
			5 a ok op=2`},
	})
}

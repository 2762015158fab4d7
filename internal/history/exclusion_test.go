package history

import (
	"testing"
)

// One at a time holds a lock, from Acquired to the loss of which it is told, to the release, or
// to its death.
func TestExclusion(t *testing.T) {
	check(t, []scene{
		{"one after the other", "", `
			0 a ask lock /l
			1 a acquired token=5
			2 b ask lock /l
			5 a release
			6 b acquired token=6
			7 a released
			8 b release
			9 b released`},
		{"two at once", "exclusion", `
			0 a ask lock /l
			1 a acquired token=5
			2 b ask lock /l
			6 b acquired token=6
			7 a release`},
		{"one that never ends", "exclusion", `
			0 a ask leader /l
			1 a acquired token=5
			2 b ask leader /l
			6 b acquired token=6`},
		{"of different paths", "", `
			0 a ask lock /l
			1 a acquired token=5
			2 b ask lock /m
			6 b acquired token=6`},
		{"told after the next has acquired", "exclusion", `
			0 a ask lock /l
			1 a acquired token=5
			2 b ask lock /l
			6 b acquired token=6
			7 a lost`},
		{"told at the same time, written down later", "", `
			0 a ask lock /l
			1 a acquired token=5
			2 b ask lock /l
			6 b acquired token=6
			6 a lost`},
		{"released at the same time, written down later", "exclusion", `
			0 a ask lock /l
			1 a acquired token=5
			2 b ask lock /l
			6 b acquired token=6
			6 a release`},
		{"killed before", "", `
			0 a ask lock /l
			1 a acquired token=5
			2 b ask lock /l
			3 a died
			6 b acquired token=6
			7 a ask lock /l op=2`},
		{"killed after", "exclusion", `
			0 a ask lock /l
			1 a acquired token=5
			2 b ask lock /l
			6 b acquired token=6
			7 a died`},
		{"released before it was acquired", "", `
			0 a ask lock /l
			1 b ask lock /l
			2 a release
			3 a acquired token=5
			4 b acquired token=6
			5 a released`},
		{"of one process", "exclusion", `
			0 a ask lock /l
			1 a acquired token=5
			2 a ask lock /l op=2
			3 a acquired op=2 token=6
			4 a release`},
	})
}

// A holder that cannot know in time is no violation, if it hears of it soon after.
func TestOutOfReach(t *testing.T) {
	const held = `
		0 a ask lock /l
		1 a acquired token=5
		2 b ask lock /l
		`
	check(t, []scene{
		{"stopped", "", held + `
			10 n fault f=pause value=a
			20 b acquired token=6
			30 n healed f=pause value=a
			31 a lost`},
		{"stopped, and released on waking", "", held + `
			10 n fault f=pause value=a
			20 b acquired token=6
			30 n healed f=pause value=a
			31 a release`},
		{"stopped, and not told on waking", "exclusion", held + `
			10 n fault f=pause value=a
			20 b acquired token=6
			30 n healed f=pause value=a
			1100 a lost`},
		{"stopped with its process", "", `
			0 p/a ask lock /l
			1 p/a acquired token=5
			2 b ask lock /l
			10 n fault f=pause value=p
			20 b acquired token=6
			30 n healed f=pause value=p
			31 p/a lost`},
		{"another is stopped", "exclusion", held + `
			10 n fault f=pause value=c
			20 b acquired token=6
			30 n healed f=pause value=c
			31 a lost`},
		{"the next has acquired before", "exclusion", held + `
			9 b acquired token=6
			10 n fault f=pause value=a
			30 n healed f=pause value=a
			31 a lost`},
		{"never woken", "", held + `
			10 n fault f=pause value=a
			5000 b acquired token=6`},
		{"stopped between the grant and its news", "", `
			0 a ask lock /l
			1 n fault f=pause value=a
			2 b ask lock /l
			20 b acquired token=6
			30 n healed f=pause value=a
			31 a acquired token=5
			32 a lost
			40 b release`},
		{"deleted by hand", "", held + `
			10 o fault f=delete /l token=5
			11 b acquired token=6
			12 a lost`},
		{"another deleted by hand", "exclusion", held + `
			10 o fault f=delete /l token=4
			11 b acquired token=6
			12 a lost`},
		{"its directory deleted by hand", "", held + `
			10 o fault f=delete /
			11 b acquired token=6
			12 a lost`},
		{"session closed by hand", "", held + `
			10 o fault f=expire value=a
			11 b acquired token=6
			2000 a lost`},
	})
	r := Check(told(t, held+`
		10 n fault f=pause value=a
		20 b acquired token=6
		30 n healed f=pause value=a
		31 a lost`))
	if r.Excused != 1 {
		t.Errorf("%d excused, want 1", r.Excused)
	}
	if _, ok := r.Smallest(); ok {
		t.Error("a margin of a holder that could not know")
	}
}

// Readers share, and a writer does not.
func TestReadersAndWriters(t *testing.T) {
	check(t, []scene{
		{"readers", "", `
			0 a ask rwlock /l f=read
			1 b ask rwlock /l f=read
			2 b acquired token=6
			3 a acquired token=5`},
		{"writer beside reader", "exclusion", `
			0 a ask rwlock /l f=read
			1 b ask rwlock /l f=write
			2 a acquired token=5
			3 b acquired token=6
			4 a release`},
		{"reader beside writer", "exclusion", `
			0 a ask rwlock /l f=write
			1 b ask rwlock /l f=read
			2 a acquired token=5
			3 b acquired token=6
			4 a release`},
		{"reader beside one that was a writer", "", `
			0 a ask rwlock /l f=write
			1 b ask rwlock /l f=read
			2 a acquired token=5
			3 a downgrade
			4 b acquired token=6
			5 a release`},
		{"downgraded too late", "exclusion", `
			0 a ask rwlock /l f=write
			1 b ask rwlock /l f=read
			2 a acquired token=5
			3 b acquired token=6
			4 a downgrade
			5 a release`},
		{"writer beside one that was a writer", "exclusion", `
			0 a ask rwlock /l f=write
			1 b ask rwlock /l f=write
			2 a acquired token=5
			3 a downgrade
			4 b acquired token=6
			5 a release`},
	})
}

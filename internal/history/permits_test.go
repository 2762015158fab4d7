package history

import (
	"testing"
	"time"
)

// No more hold than there are permits.
func TestPermits(t *testing.T) {
	const two = `
		0 a ask semaphore /s n=2
		0 b ask semaphore /s n=2
		0 c ask semaphore /s n=2
		1 a acquired token=5
		2 b acquired token=6
		`
	check(t, []scene{
		{"as many as there are", "", two + `
			3 a release
			4 c acquired token=7`},
		{"one more", "permits", two + `
			3 c acquired token=7
			4 a release`},
		{"one more, lost too late", "permits", two + `
			3 c acquired token=7
			4 b lost`},
		{"one that is stopped", "", two + `
			3 n fault f=pause value=b
			4 c acquired token=7
			5 n healed f=pause value=b
			6 b lost`},
		{"more than there are now", "", two + `
			3 d ask semaphore /s n=3
			4 d acquired token=7`},
	})
	r := Check(told(t, two+`
		10 a release
		20 b lost err=expired
		50 c acquired token=7`))
	// With b still in, a having left, it could have been let in at 10 ms.
	if m := r.Margins(); len(m) != 1 || m[0].Least != 40*time.Millisecond || m[0].After != Release {
		t.Errorf("margins %+v", m)
	}
}

// Of two holders the later has the greater token.
func TestTokens(t *testing.T) {
	check(t, []scene{
		{"less than before", "tokens", `
			0 a ask lock /l
			0 b ask lock /l
			1 a acquired token=6
			2 a release
			3 b acquired token=5`},
		{"the same", "tokens", `
			0 a ask lock /l
			1 a acquired token=6
			2 a release
			3 a ask lock /l op=2
			4 a acquired token=6 op=2`},
		{"none", "tokens", `
			0 a ask lock /l
			1 a acquired`},
		{"readers that asked one after the other", "tokens", `
			0 a ask rwlock /l f=read
			1 a acquired token=6
			2 b ask rwlock /l f=read
			3 b acquired token=5`},
		{"writer after readers", "tokens", `
			0 a ask rwlock /l f=read
			0 b ask rwlock /l f=read
			0 c ask rwlock /l f=write
			1 a acquired token=7
			2 b acquired token=5
			3 a release
			3 b release
			4 c acquired token=6`},
		{"permits that were asked for at once", "", `
			0 a ask semaphore /s n=2
			0 b ask semaphore /s n=2
			1 a acquired token=6
			2 b acquired token=5`},
		{"permits that were asked for one after the other", "tokens", `
			0 a ask semaphore /s n=2
			1 a acquired token=6
			2 b ask semaphore /s n=2
			3 b acquired token=5`},
		{"kept through a downgrade", "", `
			0 a ask rwlock /l f=write
			0 b ask rwlock /l f=read
			1 a acquired token=5
			2 a downgrade
			3 b acquired token=6
			4 b release`},
	})
}

// The margin is from the loss to the next that it kept out, by recipe and fault.
func TestMargins(t *testing.T) {
	r := Check(told(t, `
		0 a ask lock /l
		0 b ask lock /l
		0 c ask rwlock /r f=write
		0 d ask rwlock /r f=read
		0 e ask rwlock /r f=read
		1 a acquired token=1
		1 c acquired token=2
		100 n fault f=partition value=a
		300 a lost err=session_expired
		350 b acquired token=3
		400 n healed f=partition value=a
		500 n fault f=kill_leader value=s1 op=2
		600 n healed f=kill_leader value=s1 op=2
		700 c lost err=session_expired
		790 e acquired token=5
		795 d acquired token=4
		800 b lost err=lost:_revoked_by_another
		801 a ask lock /l op=2
		802 a acquired op=2 token=6
		`))
	want := []Margin{
		{Recipe: Lock, After: Lost, Cause: "partition", Times: 1, Least: 50 * time.Millisecond},
		{Recipe: Lock, After: Lost, Cause: "revoked", Times: 1, Least: 2 * time.Millisecond},
		{Recipe: RWLock, After: Lost, Cause: "kill leader", Times: 2, Least: 90 * time.Millisecond},
	}
	if !r.OK() {
		t.Error(r.Violations)
	}
	got := r.Margins()
	for i := range got {
		got[i].Events = [2]Event{}
	}
	if len(got) != len(want) {
		t.Fatalf("%+v\nwant %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	if m, ok := r.Smallest(); !ok || m.Least != 50*time.Millisecond {
		t.Errorf("smallest %+v", m)
	}
	if r.HandOvers[Lock] != 2 || r.HandOvers[RWLock] != 2 {
		t.Errorf("hand-overs %v", r.HandOvers)
	}
}

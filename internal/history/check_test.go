package history

import (
	"strings"
	"testing"
	"time"
)

// What cannot have happened is no history.
func TestSenseless(t *testing.T) {
	check(t, []scene{
		{"not asked for", "malformed", `
			0 a acquired lock /l token=5`},
		{"asked twice", "malformed", `
			0 a ask lock /l
			1 a ask lock /l`},
		{"acquired twice", "malformed", `
			0 a ask lock /l
			1 a acquired token=5
			2 a acquired token=5`},
		{"released without a release", "malformed", `
			0 a ask lock /l
			1 a acquired token=5
			2 a released`},
		{"not called", "malformed", `
			0 a ok /x f=set value=1`},
		{"called twice", "malformed", `
			0 a call /x f=get
			1 a call /x f=get`},
		{"healed, and never begun", "malformed", `
			0 n healed f=cut`},
		{"of no kind", "malformed", `
			0 n died_perhaps`},
		{"of no recipe that holds", "malformed", `
			0 a ask config /c
			1 a acquired token=1`},
		{"downgraded mutex", "malformed", `
			0 a ask lock /l
			1 a acquired token=5
			2 a downgrade`},
		{"one value written twice", "malformed", `
			0 a call /x f=set value=1
			1 a ok
			2 a call /x f=set value=1
			3 a ok`},
	})
}

// In the end of a run that was waited for nobody waits, but for the dead.
func TestUnfinished(t *testing.T) {
	check(t, []scene{
		{"all over", "", `
			0 a ask lock /l
			1 a acquired token=5
			2 a lost
			3 b ask lock /l
			4 b gave_up
			5 c call /x f=get
			6 c ok
			7 d ask lock /l
			8 d died`},
		{"waiting", "unfinished", `
			0 a ask lock /l`},
		{"holding", "unfinished", `
			0 a ask lock /l
			1 a acquired token=5`},
		{"calling", "unfinished", `
			0 a call /x f=get`},
	}, Complete())
}

// Faults by other names can put a loss out of reach, for as long as is said, or make reads old.
func TestOptions(t *testing.T) {
	check(t, []scene{
		{"told in time", "", `
			0 a ask lock /l
			1 a acquired token=5
			2 n fault f=swap value=a
			3 b ask lock /l
			4 b acquired token=6
			5 n healed f=swap value=a
			15 a lost`},
		{"told too late", "exclusion", `
			0 a ask lock /l
			1 a acquired token=5
			2 n fault f=swap value=a
			3 b ask lock /l
			4 b acquired token=6
			5 n healed f=swap value=a
			16 a lost`},
		{"read in time", "", `
			0 a call /n f=add value=1
			1 a ok value=1
			2 n fault f=freeze
			5 n healed f=freeze
			15 b call /n f=sum
			16 b ok value=0`},
		{"read too late", "sums", `
			0 a call /n f=add value=1
			1 a ok value=1
			2 n fault f=freeze
			5 n healed f=freeze
			16 b call /n f=sum
			17 b ok value=0`},
	}, Grace("swap", 10*time.Millisecond), Stale("freeze", 10*time.Millisecond))
}

// Violations are in the order of time.
func TestOrder(t *testing.T) {
	r := Check(told(t, `
		0 b call /w f=fenced token=6
		1 b ok
		2 a call /w f=fenced token=5
		9 a ok
		3 c acquired lock /l
		4 d call /x f=get
		5 d ok value=never
		4 e call /x f=set value=1
		5 e ok`))
	if len(r.Violations) != 3 || r.Violations[0].Rule != "malformed" || r.Violations[2].Rule != "fencing" {
		t.Errorf("%v", r.Violations)
	}
}

// The table has what happened, and the violations with the lines that show them.
func TestTable(t *testing.T) {
	r := Check(told(t, `
		0 a ask lock /l
		1 a acquired token=5
		2 n fault f=cut value=a
		3 a lost
		4 b ask lock /l
		5 b acquired token=6
		6 c ask lock /l
		7 c acquired token=7
		8 c call op=2 /x f=guarded token=7
		9 c ok op=2
		10 d died`))
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lock                 3         1", "guarded              1", "cut                                      1", "processes killed                         1",
		"smallest margin after the loss of a session: 2ms (lock, cut)", "violations: 1\n", "exclusion: c acquires lock /l, which b holds\n\t{\"at\":5000000,\"proc\":\"b\",\"kind\":\"acquired\""} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

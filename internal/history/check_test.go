package history

import (
	"strings"
	"testing"
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

package main

import (
	"fmt"
	"maps"
	"testing"
)

// What the coordinator does is decided by what there is, and by the time.
func TestNext(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		votes, done []any // name and vote; names
		committed   bool
		now, late   deed
	}{
		{nil, nil, false, wait, abort},
		{[]any{"ada", yes}, nil, false, wait, abort},
		{[]any{"ada", no}, nil, false, abort, abort},
		{[]any{"ada", yes, "ben", no}, nil, false, abort, abort},
		{[]any{"ada", yes, "ben", yes}, nil, false, commit, commit},
		{[]any{"ada", yes, "eve", yes}, nil, false, wait, abort}, // she was not asked
		{[]any{"ada", yes, "ben", yes}, nil, true, wait, wait},
		{[]any{"ada", yes, "ben", yes}, []any{"ada"}, true, wait, wait},
		{[]any{"ada", yes, "ben", yes}, []any{"ada", "ben"}, true, forget, forget},
	} {
		x := transaction{amounts: transfer{"ada": -1, "ben": 1}, votes: make(map[string]bool), done: make(map[string]bool), committed: tt.committed}
		for i := 0; i < len(tt.votes); i += 2 {
			x.votes[tt.votes[i].(string)] = tt.votes[i+1].(bool)
		}
		for _, name := range tt.done {
			x.done[name.(string)] = true
		}
		if now, late := x.next(false), x.next(true); now != tt.now || late != tt.late {
			t.Errorf("%+v: %v, and when it is late %v; want %v and %v", x, now, late, tt.now, tt.late)
		}
	}
}

// A journal adds up to what was written to its end, by holders in the order of their tokens.
func TestReplay(t *testing.T) {
	for _, tt := range []struct {
		lines   string
		balance int64
		open    map[string]int64
		done    map[string]bool
	}{
		{"", 100, nil, nil},
		{"\n5 began - 0 .\n5 prepared a -10 .\n", 100, map[string]int64{"a": -10}, nil},
		{"\n5 began - 0 .\n5 prepared a -10 .\n5 committed a -10 .\n", 90, nil, map[string]bool{"a": true}},
		{"5 prepared a -10 .\n5 aborted a -10 .\n5 prepared b 20 .\n5 committed b 20 .\n", 120, nil, map[string]bool{"b": true}},
		// Cut short by a crash, and what comes after it: a line break first.
		{"5 prepared a -10 .\n5 committed a -1", 100, map[string]int64{"a": -10}, nil},
		{"5 prepared a -10 .\n5 committed a -1\n6 began - 0 .\n", 100, map[string]int64{"a": -10}, nil},
		{"5 prepared a -10 .\n5 commi\n6 began - 0 .\n6 committed a -10 .\n", 90, nil, map[string]bool{"a": true}},
		// The holder before the last one writes once more.
		{"5 prepared a -10 .\n6 began - 0 .\n5 committed a -10 .\n", 100, map[string]int64{"a": -10}, nil},
	} {
		a := replay([]byte(tt.lines), 100)
		if a.balance != tt.balance || !maps.Equal(a.open, tt.open) || !maps.Equal(a.done, tt.done) {
			t.Errorf("%q: %+v", tt.lines, a)
		}
	}
}

// A transfer adds up to zero.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"ada=-10", "ben=10"}, "map[ada:-10 ben:10] <nil>"},
		{[]string{"ada=-10", "ben=11"}, "map[] the amounts of a transfer add up to zero, and not to 1"},
		{[]string{"ada"}, `map[] "ada" is not a name and an amount, such as ada=-10`},
		{nil, "map[] the amounts of a transfer add up to zero, and not to 0"},
	} {
		got, err := parse(tt.args)
		if got := fmt.Sprint(map[string]int64(got), " ", err); got != tt.want {
			t.Errorf("%q: %s", tt.args, got)
		}
	}
}

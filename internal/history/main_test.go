package history

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// told makes a history of lines such as
//
//	5 a acquired lock /l op=1 token=7
//
// which are a time in milliseconds, a Proc, a Kind, in which an underscore stands for a space,
// and fields by their names in JSON. A word without an equals sign is the path if it begins with a slash,
// and else the recipe. Op is 1 unless it is given.
func told(t *testing.T, text string) []Event {
	t.Helper()
	var events []Event
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		ms, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		e := Event{At: time.Duration(ms) * time.Millisecond, Proc: words[1], Kind: Kind(strings.ReplaceAll(words[2], "_", " ")), Op: 1}
		for _, word := range words[3:] {
			key, value, ok := strings.Cut(word, "=")
			switch {
			case ok:
				quoted := strconv.Quote(strings.ReplaceAll(value, "_", " "))
				if key == "op" || key == "token" || key == "zxid" || key == "n" {
					quoted = value
				}
				if err := json.Unmarshal(fmt.Appendf(nil, `{%q: %s}`, key, quoted), &e); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
			case strings.HasPrefix(word, "/"):
				e.Path = word
			default:
				e.Recipe = word
			}
		}
		events = append(events, e)
	}
	return events
}

// A scene is a small history, and the rule that it violates, "" if none.
type scene struct {
	name, rule, text string
}

// check checks that each scene violates its rule alone, and once.
func check(t *testing.T, scenes []scene, opts ...Option) {
	t.Helper()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			r := Check(told(t, s.text), opts...)
			switch {
			case s.rule == "" && !r.OK():
				t.Errorf("violations where there are none: %v", r.Violations)
			case s.rule != "" && (len(r.Violations) != 1 || r.Violations[0].Rule != s.rule):
				t.Errorf("violations %v, want one of %s", r.Violations, s.rule)
			case s.rule != "" && len(r.Violations[0].Events) == 0:
				t.Errorf("no event shows %v", r.Violations[0])
			}
		})
	}
}

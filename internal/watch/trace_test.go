package watch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/explore"
)

// TestTraces plays testdata. Each line is an input, and behind the arrow what the
// entry made of it: its state, and what it wants done. Subscribers have one
// letter. Answers are given as the transaction that wrote what was read, or as
// nothing, with the watch that the read has armed; an answer is to the newest read,
// or with "late" to the one before.
func TestTraces(t *testing.T) {
	explore.Traces(t, 30, func(t *testing.T) func([]string) string { return (&tracer{T: t}).step })
}

// A tracer plays one trace.
type tracer struct {
	*testing.T
	e     *entry
	subs  map[string]*subscription
	reads []*Read
}

// step takes one line, and returns what the entry makes of it.
func (t *tracer) step(args []string) string {
	if args[0] == "start" {
		t.start(args[1:])
		return ""
	}
	var do actions
	t.e.step(t.input(args), &do)
	var made []string
	for _, a := range do {
		what := a.String()
		if a.verb == read {
			t.reads = append(t.reads, a.read)
			what = strings.TrimSuffix(what, " "+a.read.key.String())
		}
		for name, sub := range t.subs {
			if sub == a.sub {
				what = name + " " + what
			}
		}
		made = append(made, what)
	}
	return fmt.Sprintf("%-8s  %s", t.e.state, strings.Join(made, "; "))
}

func (t *tracer) start(args []string) {
	k := key{path: "/a", kind: kindNamed(t.T, args[0]), untilDeleted: slices.Contains(args, "deleted")}
	t.e, t.subs, t.reads = &entry{key: k, down: slices.Contains(args, "down")}, make(map[string]*subscription), nil
}

// kinds are the kinds of inputs, as traces name them.
var kinds = [...]string{"subscribe", "unsubscribe", "fired", "suspended", "resumed", "rearmed", "begin",
	"answered", "failed", "refused", "closed", "rested"}

// words are what the inputs of a trace are made of.
var words = map[string]zk.EventType{
	"created": zk.EventNodeCreated, "changed": zk.EventNodeDataChanged,
	"deleted": zk.EventNodeDeleted, "children": zk.EventNodeChildrenChanged,
}

// input parses a line.
func (t *tracer) input(args []string) input {
	s := slices.Index(kinds[:], args[0])
	if s < 0 {
		t.Fatalf("no input %q", args[0])
	}
	in := input{kind: kind(s)}
	switch args = args[1:]; in.kind {
	case subscribe:
		t.subs[args[0]] = &subscription{key: t.e.key}
		in.sub = t.subs[args[0]]
	case unsubscribe:
		in.sub = t.subs[args[0]]
	case fired:
		in.event = words[args[0]]
	case resumed:
		in.newSession = slices.Contains(args, "anew")
	case rearmed:
		in.watch = watchNamed(args)
	case answered, failed, refused:
		in.read = t.reads[len(t.reads)-1]
		if slices.Contains(args, "late") {
			in.read = t.reads[len(t.reads)-2]
		}
		in.err = errors.New("denied")
		if in.kind == answered {
			in.answer = &Answer{armed: watchNamed(args)}
			if args[0] != "nothing" {
				n, err := strconv.ParseInt(args[0], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				in.answer.snap = event.Snapshot{Exists: true, Stat: event.Stat{Czxid: 1, Mzxid: n, Pzxid: n}}
			}
		}
	case closed:
		in.err = errors.New("closed")
	}
	return in
}

func kindNamed(t *testing.T, name string) event.Kind {
	for k := event.Presence; k <= baton; k++ {
		if k.String() == name || k == baton && name == "baton" {
			return k
		}
	}
	t.Fatalf("no kind %q", name)
	return 0
}

// watchNamed returns the watch that args name, as in "on data", if any.
func watchNamed(args []string) watch {
	for w := unarmed; w <= onChild; w++ {
		if strings.Contains(strings.Join(args, " "), w.String()) {
			return w
		}
	}
	return unarmed
}

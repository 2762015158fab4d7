package queue

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// TestTraces plays testdata. Each line is an event, and behind the arrow what
// the machine made of it: its state, and its op or what the state is about.
// Names are short: me-5, mr-5 or mw-5 is the machine's node of number 5, the lock's
// of a mutex, a reader's or a writer's; r-3 and w-3 are of another reader and
// another writer, and with any other letter it is that of a mutex contender.
func TestTraces(t *testing.T) {
	explore.Traces(t, 32, func(t *testing.T) func([]string) string {
		var m *machine
		return func(args []string) string {
			var do action
			if args[0] == "start" {
				m = &machine{id: modelIDs[0], try: slices.Contains(args, "try"), causes: &modelCauses, many: 2}
				if slices.Contains(args, "baton") {
					m.id += batonMark
				}
				if slices.Contains(args, "late") {
					m.id += lateMark
				}
				if slices.Contains(args, "read") {
					m.mode = Read
				}
				if slices.Contains(args, "write") {
					m.mode = Write
				}
				do = action{verb: create}
			} else {
				do = m.step(parseInput(t, args))
			}
			return fmt.Sprintf("%-10s %s", stateNames[m.state], about(m, do))
		}
	})
}

var stateNames = [...]string{"creating", "looking", "listing", "equipping", "waiting", "confirming", "held", "downgrading", "revoked", "leaving", "done"}

var kindNames = []string{"created", "unknown", "listed", "equipped", "removed", "replaced", "refused", "blockerGone", "passed", "confirmed", "doubt", "gone", "revokeAsked", "expired", "quit", "downgradeAsked"}

var verbNames = [...]string{"", "create", "list", "equip", "watch", "remove", "replace"}

func parseInput(t *testing.T, args []string) input {
	s := slices.Index(kindNames, args[0])
	if s < 0 {
		t.Fatalf("no event %q", args[0])
	}
	in := input{kind: kind(s)}
	switch args = args[1:]; in.kind {
	case created:
		in.node, in.token = long(args[0]), atoi(t, args[1])
		in.onlyChild = slices.Contains(args, "alone")
	case replaced:
		in.node = long(args[0])
	case listed:
		for _, a := range args {
			in.names = append(in.names, long(a))
		}
	case confirmed:
		in.token = atoi(t, args[0])
	case refused:
		in.err = errDenied
	case expired:
		in.err = errExpired
	case quit:
		in.err = errCanceled
		if slices.Contains(args, "released") {
			in.err = errReleased
		}
	}
	return in
}

// about says what m wants, or what there is to know of the state it is in.
func about(m *machine, do action) string {
	switch {
	case do.sync:
		return verbNames[do.verb] + " synced"
	case do.baton && do.verb == remove:
		return "pass " + short(do.node)
	case do.baton:
		return verbNames[do.verb] + " baton of " + short(do.node)
	case do.verb != nothing:
		return strings.TrimSpace(verbNames[do.verb] + " " + short(do.node))
	case m.state == held:
		return fmt.Sprint("token ", m.token)
	case m.cause != nil:
		return strings.ReplaceAll(m.cause.Error(), "\n", ", ")
	}
	return ""
}

func atoi(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func long(s string) string {
	who, number, ok := strings.Cut(s, "-")
	n, err := strconv.Atoi(number)
	switch {
	case !ok || err != nil:
		return s // no contender
	case who == "me":
		return fmt.Sprintf("%s%010d", prefix(modelIDs[0], Lock), n)
	case who == "mb":
		return fmt.Sprintf("%s%010d", prefix(modelIDs[0]+batonMark, Lock), n)
	case who == "ml":
		return fmt.Sprintf("%s%010d", prefix(modelIDs[0]+lateMark, Lock), n)
	case who == "mr":
		return fmt.Sprintf("%s%010d", prefix(modelIDs[0], Read), n)
	case who == "mw":
		return fmt.Sprintf("%s%010d", prefix(modelIDs[0], Write), n)
	case strings.TrimSuffix(who, batonMark) == "r":
		return fmt.Sprintf("%s%010d", prefix(who, Read), n)
	case who == "w":
		return fmt.Sprintf("%s%010d", prefix(who, Write), n)
	}
	return fmt.Sprintf("%s%010d", prefix(who, Lock), n)
}

func short(name string) string {
	c, ok := parse(name)
	switch {
	case !ok:
		return name
	case c.id == modelIDs[0]+batonMark:
		return fmt.Sprint([]string{"mb-", "mbw-", "mbr-"}[c.mode], c.number)
	case c.id == modelIDs[0]+lateMark:
		return fmt.Sprint("ml-", c.number)
	case c.id == modelIDs[0]:
		return fmt.Sprint([]string{"me-", "mw-", "mr-"}[c.mode], c.number)
	}
	return fmt.Sprint(strings.Trim(c.id, "-"), "-", c.number)
}

// R6: of an end and a clean-up that failed, the end comes first, and both can
// be asked for.
func TestCausesAreJoined(t *testing.T) {
	m := machine{id: modelIDs[0], causes: &modelCauses}
	m.step(input{kind: created, node: long("me-5"), token: 12, onlyChild: true})
	m.step(input{kind: quit, err: errReleased})
	m.step(input{kind: refused, err: errDenied})
	if !errors.Is(m.cause, errReleased) || !errors.Is(m.cause, errDenied) || !strings.HasPrefix(m.cause.Error(), errReleased.Error()) {
		t.Error(m.cause)
	}
}

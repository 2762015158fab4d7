package claim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/internal/explore"
)

// TestTraces plays testdata. Each line is an input, and behind the arrow what the
// machine made of it: its state, and its op or what the state is about. A znode is its
// czxid and, behind a colon, its version if that is not 1.
func TestTraces(t *testing.T) {
	explore.Traces(t, 28, func(t *testing.T) func([]string) string {
		var m *machine
		return func(args []string) string {
			has := func(word string) bool { return slices.Contains(args[1:], word) }
			var do op
			if args[0] == "start" {
				m = &machine{guarded: !has("bare"), strict: has("lock"), wait: has("wait"), causes: modelCauses}
				do = op{action: create}
			} else {
				do = m.step(parseInput(t, args, has))
			}
			return fmt.Sprintf("%-10s %s", stateNames[m.state], about(m, do))
		}
	})
}

var stateNames = [...]string{"creating", "looking", "taken", "clearing", "checking", "dropping", "renewing", "held", "writing", "revoked", "leaving", "renaming", "done"}

var kindNames = []string{"created", "exists", "guardless", "unknown", "seen", "cleared", "renewed", "written", "outdated", "missing",
	"kept", "renamed", "removed", "refused", "freed", "gone", "marked", "fresh", "expired", "quit"}

var ownerNames = []string{"nobody", "mine", "former", "another"}

var actionNames = [...]string{"", "create", "look", "watch", "clear", "renew", "write", "remove", "rename", "drop"}

func parseInput(t *testing.T, args []string, has func(string) bool) input {
	k := slices.Index(kindNames, args[0])
	if k < 0 {
		t.Fatalf("no input %q", args[0])
	}
	in := input{kind: kind(k), alone: has("alone")}
	switch in.kind {
	case created, written:
		in.at = parseZnode(t, args[1])
	case seen:
		in.whose = owner(slices.Index(ownerNames, args[1]))
		if in.whose != nobody {
			in.at = parseZnode(t, args[2])
		}
		if in.whose == another {
			in.err = errTaken
		}
	case kept, refused:
		in.err = errDenied
	case expired:
		in.err = errExpired
	case quit:
		in.err = errCanceled
		if has("released") {
			in.err = errReleased
		}
	}
	return in
}

func parseZnode(t *testing.T, s string) znode {
	czxid, version, ok := strings.Cut(s, ":")
	if !ok {
		version = "1"
	}
	c, err1 := strconv.Atoi(czxid)
	v, err2 := strconv.Atoi(version)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return znode{int64(c), int32(v)}
}

func (z znode) String() string {
	if z.version == 1 {
		return fmt.Sprint(z.czxid)
	}
	return fmt.Sprint(z.czxid, ":", z.version)
}

// about says what m wants, or what there is to know of the state it is in.
func about(m *machine, do op) string {
	if do.action == nothing {
		switch {
		case m.left != nil && m.state == done:
			return fmt.Sprint(m.cause, ", left: ", m.left)
		case m.cause != nil:
			return m.cause.Error()
		case m.state == held:
			return fmt.Sprint("token ", m.token)
		}
		return ""
	}
	words := []string{actionNames[do.action]}
	if do.at != (znode{}) {
		words = append(words, do.at.String())
	}
	for word, is := range map[string]bool{"guard": do.guard, "synced": do.sync, "keeping": do.keep} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words[1:])
	return strings.Join(words, " ")
}

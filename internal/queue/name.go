package queue

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkcoord/zkcoord/coord"
)

// A Mode says what a contender asks for.
type Mode uint8

const (
	Lock  Mode = iota // to be alone; stays what it is until it leaves
	Write             // to be alone; may be replaced in place by a read of the same number
	Read              // to share with others that read
)

// blocks reports whether a contender must wait for one that is ahead of it. One
// behind it is never waited for: two that waited for each other would wait
// forever.
func blocks(ahead, me Mode) bool { return ahead != Read || me != Read }

// infixes are the texts that stand before the number in a contender's name. The first
// three are Curator's and ours, one for each mode in its order; go-zookeeper uses the
// first, kazoo the last two. Before the infix Curator and go-zookeeper, and earlier
// versions of ours, put _c_ and a UUID, and kazoo a UUID; no client looks at that in
// the names of others that do not begin with _c_.
var infixes = []struct {
	text string
	mode Mode
}{
	{"-lock-", Lock},
	{"-__WRIT__", Write},
	{"-__READ__", Read},
	{"__lock__", Lock},
	{"__rlock__", Read},
}

// A contender is what a child's name tells of one place in the queue.
type contender struct {
	name   string
	id     string // chosen by the contender, and unique
	mode   Mode
	number int32 // the place: the lowest is the head
}

// idLength is how long an id is, without its mark.
const idLength = 13

// newID returns a random id of 65 bits. It is short, because every contender that comes
// reads those of all.
func newID() string {
	const digits = "abcdefghijklmnopqrstuvwxyz234567"
	var b [idLength]byte
	rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = digits[b[i]%32]
	}
	return string(b[:])
}

// An id that ends with batonMark says that its contender was created with a baton, unless
// it reads. One that ends with lateMark says that it gets one if it finds many before it.
const (
	batonMark = "+"
	lateMark  = "~"
)

// bornWithBaton reports whether the contender id was created with a baton.
func bornWithBaton(id string) bool { return strings.HasSuffix(id, batonMark) }

// getsBaton reports whether the contender id gets a baton if it finds many before it.
func getsBaton(id string) bool { return strings.HasSuffix(id, lateMark) }

// hasBaton reports whether c, which has others before it, many or not, may have a baton
// that can be passed. A baton of an id is gone when a read has taken the place of a write.
func (c contender) hasBaton(many bool) bool {
	return c.mode != Read && (bornWithBaton(c.id) || many && getsBaton(c.id))
}

// idOf returns the id in the name of a contender.
func idOf(name string) string {
	c, _ := parse(name)
	return c.id
}

// prefix returns the name under which contender id of mode m is created; the
// server appends the number.
func prefix(id string, m Mode) string { return id + infixes[m].text }

// IsOurs reports whether the znode named is a contender of this module, and not of
// another client.
func IsOurs(name string) bool {
	before, infix, _, ok := split(name)
	return ok && infix <= int(Read) && len(strings.TrimRight(before, batonMark+lateMark)) == idLength && !strings.Contains(before, "_")
}

// asRead returns the name of the read that takes the place of the write named.
func asRead(name string) string {
	before, infix, _, _ := split(name)
	return before + infixes[Read].text + name[len(before)+len(infixes[infix].text):]
}

// reads reports whether the znode named is a contender that shares with others that
// read.
func reads(name string) bool {
	c, ok := parse(name)
	return ok && c.mode == Read
}

// parse reads a child's name. It reports false for a child that is no contender. The
// part before the infix is not examined: other clients do not examine it, and a
// contender overlooked is a second holder.
func parse(name string) (contender, bool) {
	before, infix, n, ok := split(name)
	if !ok {
		return contender{}, false
	}
	return contender{name, strings.TrimPrefix(before, "_c_"), infixes[infix].mode, n}, true
}

// IsContender reports whether a child of this name is a contender, of ours or of another
// client.
func IsContender(name string) bool {
	_, ok := parse(name)
	return ok
}

// split splits a contender's name at the infix. The number has no other form than that
// in which a server writes it: ten wide, and negative once the counter has overflowed.
// Only the largest with their sign are wider.
func split(name string) (before string, infix int, n int32, ok bool) {
	for _, width := range [...]int{10, 11} {
		at := len(name) - width
		if at < 0 {
			break
		}
		n, ok := number(name[at:])
		if !ok {
			continue
		}
		for i := range infixes {
			if before, ok := strings.CutSuffix(name[:at], infixes[i].text); ok {
				return before, i, n, true
			}
		}
	}
	return "", 0, 0, false
}

// number reads digits, with or without a sign, of which the one before them is none.
func number(s string) (int32, bool) {
	digits, negative := strings.CutPrefix(s, "-")
	n := int64(0)
	for i := range len(digits) {
		if digits[i] < '0' || '9' < digits[i] {
			return 0, false
		}
		n = 10*n + int64(digits[i]-'0')
	}
	if negative {
		n = -n
	}
	// Eleven wide are only those that do not fit in ten.
	if n != int64(int32(n)) || len(s) > 10 && n > -1_000_000_000 {
		return 0, false
	}
	return int32(n), true
}

// compare compares the places of a and b in the queue. The order is by number, never by
// string: a negative number and a foreign prefix sort wrongly as text.
func compare(a, b contender) int {
	if a.number != b.number {
		return cmp.Compare(a.number, b.number)
	}
	return strings.Compare(a.name, b.name)
}

// inOrder returns the contenders among the children of a lock directory in the
// order of the queue, head first.
func inOrder(children []string) []contender {
	all := make([]contender, 0, len(children))
	for _, name := range children {
		if c, ok := parse(name); ok {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, compare)
	return all
}

// IsForeign reports whether the child named is that of another recipe of Curator, whose
// participants do not look at contenders: of a LeaderLatch, or a lease of a semaphore.
// Somebody would hold beside one that leads by it.
func IsForeign(name string) bool {
	for _, width := range [...]int{10, 11} {
		at := len(name) - width
		if at < len("-latch-") {
			break
		}
		if infix := name[at-len("-latch-") : at]; infix == "-latch-" || infix == "-lease-" {
			_, ok := number(name[at:])
			return ok
		}
	}
	return false
}

// firstForeign returns the first of the children that is of another recipe, or "".
func firstForeign(children []string) string {
	for _, name := range children {
		if IsForeign(name) {
			return name
		}
	}
	return ""
}

// errForeign returns the error that names the child of another recipe.
func errForeign(child string) error { return fmt.Errorf("%w: it has %q", coord.ErrForeign, child) }

// checkChildren returns why a directory with these children is not that of a lock.
func checkChildren(children []string) error {
	if child := firstForeign(children); child != "" {
		return errForeign(child)
	}
	return nil
}

// A place is what the children of a lock directory tell one contender.
type place struct {
	found   bool      // it is among them
	me      contender // it
	ordered bool      // the numbers of all tell which came first
	blocked int       // for how many it must wait
	nearest contender // the last of those
	foreign string    // a child that is of another recipe; empty if there is none
}

// placeOf returns the place of the contender id. It does not put the others in order,
// which would take longer than all the rest.
func placeOf(children []string, id string) (p place) {
	for _, name := range children {
		if !strings.HasPrefix(strings.TrimPrefix(name, "_c_"), id) {
			continue
		}
		if c, ok := parse(name); ok && c.id == id {
			p.me, p.found = c, true
			break
		}
	}
	if !p.found {
		return p
	}
	p.ordered = true
	for _, name := range children {
		c, ok := parse(name)
		if !ok {
			if p.foreign == "" && IsForeign(name) {
				p.foreign = name
			}
			continue
		}
		p.ordered = p.ordered && inRange(c) && (c.number != p.me.number || c.id == id)
		if compare(c, p.me) < 0 && blocks(c.mode, p.me.mode) {
			p.blocked++
			if p.blocked == 1 || compare(c, p.nearest) > 0 {
				p.nearest = c
			}
		}
	}
	return p
}

// inRange reports whether the number of c tells its place. At its largest the server's
// counter sticks or overflows: from there on it hands out numbers twice, and negative
// ones.
func inRange(c contender) bool { return c.number >= 0 && c.number != math.MaxInt32 }

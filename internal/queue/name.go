package queue

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
// first, kazoo the last two.
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

// newID returns a random UUID. It has dashes because Curator looks for them
// behind _c_ in every name it meets.
func newID() string {
	var b [16]byte
	rand.Read(b[:])         // never fails
	b[6] = b[6]&0x0f | 0x40 // version 4: random
	b[8] = b[8]&0x3f | 0x80 // variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// prefix returns the name under which contender id of mode m is created; the
// server appends the number.
func prefix(id string, m Mode) string { return "_c_" + id + infixes[m].text }

// asRead returns the name of the read that takes the place of the write named.
func asRead(name string) string {
	c, _ := parse(name)
	return fmt.Sprintf("%s%010d", prefix(c.id, Read), c.number)
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
	for _, m := range infixes {
		at := strings.LastIndex(name, m.text)
		if at < 0 {
			continue
		}
		if n, ok := number(name[at+len(m.text):]); ok {
			return contender{name, strings.TrimPrefix(name[:at], "_c_"), m.mode, n}, true
		}
	}
	return contender{}, false
}

// number reads the suffix of a sequential node, in no other form than that in
// which a server writes it: ten wide, and negative once the counter has overflowed.
func number(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int32(n), err == nil && s == fmt.Sprintf("%010d", n)
}

// inOrder returns the contenders among the children of a lock directory in the
// order of the queue, head first. The order is by number, never by string: a
// negative number and a foreign prefix sort wrongly as text.
func inOrder(children []string) []contender {
	var all []contender
	for _, name := range children {
		if c, ok := parse(name); ok {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b contender) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
	return all
}

// blockers returns the contenders in the queue for which the i-th must wait.
func blockers(all []contender, i int) []contender {
	var ahead []contender
	for _, c := range all[:i] {
		if blocks(c.mode, all[i].mode) {
			ahead = append(ahead, c)
		}
	}
	return ahead
}

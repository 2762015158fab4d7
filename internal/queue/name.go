package queue

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A mode says what a contender asks for.
type mode uint8

const (
	lock  mode = iota // to be alone; stays what it is until it leaves
	write             // to be alone; may be replaced in place by a read of the same number
	read              // to share with other readers
)

// blocks reports whether a contender must wait for one that is ahead of it. One
// behind it is never waited for: two that waited for each other would wait for
// ever.
func blocks(ahead, me mode) bool { return ahead != read || me != read }

// infixes are the texts that stand before the number in a contender's name, by
// whoever made it. The first three are Curator's and ours, one for each kind
// in its order; go-zookeeper has the first, kazoo the last two.
var infixes = []struct {
	text string
	mode mode
}{
	{"-lock-", lock},
	{"-__WRIT__", write},
	{"-__READ__", read},
	{"__lock__", lock},
	{"__rlock__", read},
}

// A contender is what a child's name tells of one place in the queue.
type contender struct {
	name   string
	id     string // marks its maker; unique
	mode   mode
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

// prefix returns the name under which contender id of kind k is created; the
// server appends the number.
func prefix(id string, k mode) string { return "_c_" + id + infixes[k].text }

// asRead returns the name of the read that takes the place of the write named.
func asRead(name string) string {
	c, _ := parse(name)
	return fmt.Sprintf("%s%010d", prefix(c.id, read), c.number)
}

// Reads reports whether the contender with the znode named shares with others
// who read.
func Reads(name string) bool {
	c, ok := parse(name)
	return ok && c.mode == read
}

// parse reads a child's name. It reports false for a child that is no
// contender. What stands before the mark is not looked into: the other
// clients do not either, and to overlook a contender is to hold beside it.
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
// which a server writes it: ten wide, and negative once the counter has run
// over.
func number(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int32(n), err == nil && s == fmt.Sprintf("%010d", n)
}

// inOrder returns the contenders among the children of a lock directory in the
// order of the queue, head first. The order is by number, never by string: a
// negative number and a foreign prefix sort wrongly as text.
func inOrder(children []string) []contender {
	var line []contender
	for _, name := range children {
		if c, ok := parse(name); ok {
			line = append(line, c)
		}
	}
	slices.SortFunc(line, func(a, b contender) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
	return line
}

// blockers returns those in line for whom the i-th must wait.
func blockers(line []contender, i int) []contender {
	var all []contender
	for _, c := range line[:i] {
		if blocks(c.mode, line[i].mode) {
			all = append(all, c)
		}
	}
	return all
}

package queue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
)

const (
	someUUID = "5f3a8d6e-0b1c-4d2e-9f00-112233445566"
	someHex  = "5f3a8d6e0b1c4d2e9f00112233445566"
	someID   = "ab2cdef3ghij4"
)

func TestParse(t *testing.T) {
	for name, want := range map[string]contender{
		"_c_" + someUUID + "-lock-0000000007":        {id: someUUID, mode: Lock, number: 7}, // Curator, and ours once
		"_c_" + someUUID + "-__WRIT__0000000007":     {id: someUUID, mode: Write, number: 7},
		"_c_" + someUUID + "-__READ__0000000007":     {id: someUUID, mode: Read, number: 7},
		"_c_" + someHex + "-lock-2147483647":         {id: someHex, mode: Lock, number: 2147483647}, // go-zookeeper
		someHex + "__lock__0000000032":               {id: someHex, mode: Lock, number: 32},         // kazoo
		someHex + "__rlock__0000000032":              {id: someHex, mode: Read, number: 32},
		"_c_" + someUUID + "-lock--2147483648":       {id: someUUID, mode: Lock, number: -2147483648},
		"_c_" + someUUID + "-lock--000000005":        {id: someUUID, mode: Lock, number: -5},          // ten wide with its sign
		"_c_" + someUUID + "-lock--1000000000":       {id: someUUID, mode: Lock, number: -1000000000}, // eleven wide
		"_c_" + someUUID + "-lock--0000000005":       {},
		"_c_" + someUUID + "-lock--2147483649":       {},
		someID + "-lock-0000000007":                  {id: someID, mode: Lock, number: 7}, // ours
		someID + "-__READ__0000000007":               {id: someID, mode: Read, number: 7},
		someHex + "__lock__-2147483600":              {id: someHex, mode: Lock, number: -2147483600},
		"-lock-0000000001-lock-0000000002":           {id: "-lock-0000000001", mode: Lock, number: 2},
		"_c_" + someUUID + "-lock-__lock__000000000": {}, // nine digits
		"_c_" + someUUID + "-lock-":                  {},
		"_c_" + someUUID + "-lock-00000000007":       {},
		"_c_" + someUUID + "-lock-+000000007":        {},
		"_c_" + someUUID + "-lock-00000x0007":        {},
		"_c_" + someUUID + "-lock-9999999999":        {}, // beyond a server's numbers
		"_c_" + someUUID + "-latch-0000000007":       {},
		"x-72057-0000000007":                         {},
		"lock-0000000007":                            {},
		"_c_":                                        {},
		"":                                           {},
	} {
		got, ok := parse(name)
		if ok {
			want.name = name
		}
		if got != want || ok != (want.id != "") {
			t.Errorf("%q: got %+v, want %+v", name, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	var got []string
	for _, c := range inOrder([]string{"zoo", "a-lock-0000000010", "z-lock-0000000002", "_c_b-lock-0000000010", "m__lock__-2147483648", "_c_x-__READ__0000000009"}) {
		got = append(got, c.id)
	}
	if want := "m z x b a"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A contender of this module, with or without a baton, is told from those of others.
func TestIsOurs(t *testing.T) {
	for id, want := range map[string]bool{
		newID(): true, newID() + batonMark: true, newID() + lateMark: true,
		"_c_" + someUUID: false, "_c_" + someHex: false, "": false, "_c_456789abcd": false,
	} {
		for _, m := range []Mode{Lock, Write, Read} {
			if got := IsOurs(prefix(id, m) + "0000000003"); got != want {
				t.Errorf("%q, %d: %t", id, m, got)
			}
		}
	}
	if IsOurs(someID+"__lock__0000000003") || IsOurs(someID) {
		t.Error("a znode of kazoo's, or none, is taken for ours")
	}
}

// What LeaderLatch and InterProcessSemaphoreV2 leave in a directory is told from
// contenders and from everything else, with a look at many children and at a few.
func TestForeign(t *testing.T) {
	me := prefix(someID, Lock) + "0000000001"
	for name, want := range map[string]bool{
		"_c_" + someUUID + "-latch-0000000000":  true,
		"_c_" + someUUID + "-latch--2147483648": true,
		"_c_" + someUUID + "-lease-0000000012":  true,
		"-latch-0000000000":                     true,
		"_c_" + someUUID + "-latch-000000000":   false,
		"_c_" + someUUID + "-latch-x000000000":  false,
		"_c_" + someUUID + "-lock-0000000000":   false,
		"latch-0000000000":                      false,
		"-latch-":                               false,
		"":                                      false,
	} {
		found := ""
		if want {
			found = name
		}
		children := []string{me, name}
		if got := placeOf(children, someID).foreign; got != found {
			t.Errorf("%q: a place says %q", name, got)
		}
		if got := newOrder(children).place(someID).foreign; got != found {
			t.Errorf("%q: an order says %q", name, got)
		}
		if err := checkChildren(children); errors.Is(err, coord.ErrForeign) != want || want && !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestNewID(t *testing.T) {
	a, b := newID(), newID()
	if a == b {
		t.Error("twice the same:", a)
	}
	if !regexp.MustCompile(`^[a-z2-7]{13}$`).MatchString(a) {
		t.Error("not 65 bits:", a)
	}
}

// FuzzParse: no name panics, and what is read is what was written.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"_c_" + someUUID + "-lock-0000000007", someHex + "__rlock__-2147483648", "_c_", "-lock-", "__lock__-"} {
		f.Add(name, int32(7))
	}
	f.Fuzz(func(t *testing.T, name string, n int32) {
		c, ok := parse(name)
		if ok && (c.name != name || !strings.HasSuffix(name, fmt.Sprintf("%010d", c.number))) {
			t.Errorf("%q read as %+v", name, c)
		}
		checkPlace(t, []string{name, name + "0000000001", name, prefix(someID, Lock) + "0000000001"}, someID)

		for _, k := range []Mode{Lock, Write, Read} {
			made := fmt.Sprintf("%s%010d", prefix(someID, k), n)
			if c, ok := parse(made); !ok || c != (contender{made, someID, k, n}) {
				t.Errorf("%q read as %+v", made, c)
			}
		}
		if got, want := asRead(fmt.Sprintf("%s%010d", prefix(someID, Write), n)), fmt.Sprintf("%s%010d", prefix(someID, Read), n); got != want {
			t.Errorf("%q as a read, want %q", got, want)
		}
		m := machine{id: someUUID, causes: &modelCauses}
		m.step(input{kind: unknown})
		m.step(input{kind: listed, names: []string{name, prefix(someUUID, Lock) + "0000000001"}})
	})
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

// checkPlace checks what one pass finds against the queue put in order.
func checkPlace(t *testing.T, children []string, id string) {
	t.Helper()
	p, all := placeOf(children, id), inOrder(children)
	names := slices.CompactFunc(slices.Clone(all), func(a, b contender) bool { return a.id == b.id })
	if shared := newOrder(children).place(id); len(names) == len(all) && shared != p {
		t.Errorf("%q: found %+v in the shared order, want %+v", children, shared, p)
	}
	i := slices.IndexFunc(all, func(c contender) bool { return c.id == id })
	if p.found != (i >= 0) {
		t.Errorf("%q: found is %t", children, p.found)
	}
	if !p.found {
		return
	}
	ahead := blockers(all, i)
	if p.me != all[i] || p.blocked != len(ahead) || len(ahead) > 0 && p.nearest != ahead[len(ahead)-1] {
		t.Errorf("%q: found %+v; want %+v after %+v", children, p, all[i], ahead)
	}
}

// What one pass over the children finds is what their order says, for every mode, and
// with strangers among them.
func TestPlaceOf(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		children := []string{"zoo", "config"}
		for n := range random.IntN(12) {
			m := infixes[random.IntN(len(infixes))]
			children = append(children, fmt.Sprintf("%c%s%010d", 'a'+n, m.text, random.IntN(12)-2))
		}
		random.Shuffle(len(children), func(i, j int) { children[i], children[j] = children[j], children[i] })
		for _, id := range []string{"a", "b", "l"} {
			checkPlace(t, children, id)
		}
	}
}

// BenchmarkPlaceOf is what a contender makes of 10,000 others.
func BenchmarkPlaceOf(b *testing.B) {
	children := make([]string, 10_000)
	for i := range children {
		children[i] = fmt.Sprintf("%s%010d", prefix(newID(), Lock), i)
	}
	c, _ := parse(children[len(children)-1])
	rand.Shuffle(len(children), func(i, j int) { children[i], children[j] = children[j], children[i] })
	b.ReportAllocs()
	for b.Loop() {
		if p := placeOf(children, c.id); p.blocked != len(children)-1 {
			b.Fatal(p)
		}
	}
}

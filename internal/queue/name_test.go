package queue

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const (
	someUUID = "5f3a8d6e-0b1c-4d2e-9f00-112233445566"
	someHex  = "5f3a8d6e0b1c4d2e9f00112233445566"
)

func TestParse(t *testing.T) {
	for name, want := range map[string]contender{
		"_c_" + someUUID + "-lock-0000000007":        {id: someUUID, mode: Lock, number: 7}, // Curator, ours
		"_c_" + someUUID + "-__WRIT__0000000007":     {id: someUUID, mode: Write, number: 7},
		"_c_" + someUUID + "-__READ__0000000007":     {id: someUUID, mode: Read, number: 7},
		"_c_" + someHex + "-lock-2147483647":         {id: someHex, mode: Lock, number: 2147483647}, // go-zookeeper
		someHex + "__lock__0000000032":               {id: someHex, mode: Lock, number: 32},         // kazoo
		someHex + "__rlock__0000000032":              {id: someHex, mode: Read, number: 32},
		"_c_" + someUUID + "-lock--2147483648":       {id: someUUID, mode: Lock, number: -2147483648},
		"_c_" + someUUID + "-lock--000000005":        {id: someUUID, mode: Lock, number: -5}, // ten wide with its sign
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

func TestNewID(t *testing.T) {
	a, b := newID(), newID()
	if a == b {
		t.Error("twice the same:", a)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(a) {
		t.Error("not a random UUID:", a)
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
		inOrder([]string{name, name + "0000000001", name})

		for _, k := range []Mode{Lock, Write, Read} {
			made := fmt.Sprintf("%s%010d", prefix(someUUID, k), n)
			if c, ok := parse(made); !ok || c != (contender{made, someUUID, k, n}) {
				t.Errorf("%q read as %+v", made, c)
			}
		}
		m := machine{id: someUUID, causes: modelCauses}
		m.step(input{kind: unknown})
		m.step(input{kind: listed, names: []string{name, prefix(someUUID, Lock) + "0000000001"}})
	})
}

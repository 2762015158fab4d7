package members_test

import (
	"maps"
	"strconv"
	"testing"

	"github.com/zkcoord/zkcoord/members"
)

// Decode returns all that can be decoded, and its error names what cannot.
func TestDecode(t *testing.T) {
	number := func(data []byte) (int, error) { return strconv.Atoi(string(data)) }
	v := members.View{Members: []members.Member{{ID: "a", Data: []byte("1")}, {ID: "b", Data: []byte("x")}, {ID: "c"}, {ID: "d", Data: []byte("4")}}}
	all, err := members.Decode(v, number)
	if want := map[string]int{"a": 1, "d": 4}; !maps.Equal(all, want) {
		t.Errorf("got %v, want %v", all, want)
	}
	const want = `members: data of b: strconv.Atoi: parsing "x": invalid syntax
members: data of c: strconv.Atoi: parsing "": invalid syntax`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if all, err := members.Decode(members.View{}, number); len(all) > 0 || err != nil {
		t.Errorf("of nobody: %v, %v", all, err)
	}
}

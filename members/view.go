package members

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkcoord/zkcoord/internal/subtree"
)

// A View is the members as seen in one listing of the directory. Their data may be of
// moments that are a read apart.
type View struct {
	Members   []Member // in the order of their IDs; neither they nor their data may be modified
	Suspended bool     // the connection is down, and this is what was last known

	// Err names children of the directory that may not be read, so that it is unknown
	// whether they are members. They are not in Members.
	Err error
}

// Member returns the member with this ID, and whether v has one.
func (v View) Member(id string) (Member, bool) {
	i, ok := slices.BinarySearchFunc(v.Members, id, func(m Member, id string) int { return strings.Compare(m.ID, id) })
	if !ok {
		return Member{}, false
	}
	return v.Members[i], true
}

func (v View) equal(w View) bool {
	return v.Suspended == w.Suspended && fmt.Sprint(v.Err) == fmt.Sprint(w.Err) && slices.EqualFunc(v.Members, w.Members, same)
}

func same(a, b Member) bool { return a.ID == b.ID && bytes.Equal(a.Data, b.Data) }

func view(nodes []*subtree.Node) View {
	v := View{Members: make([]Member, 0, len(nodes))}
	unread := 0
	for _, n := range nodes {
		switch {
		case n.Err != nil:
			if unread++; unread == 1 {
				v.Err = n.Err
			}
		case n.EphemeralOwner != 0:
			v.Members = append(v.Members, Member{n.Name, n.Data})
		}
	}
	if unread > 1 {
		v.Err = fmt.Errorf("%w; and %d more", v.Err, unread-1)
	}
	return v
}

// Diff returns the members of v that are not in prev, those of prev that are not in v,
// and those of v whose data differ from prev's. A member that left and came back between
// the two with the same data is in none of them.
func (v View) Diff(prev View) (joined, left, changed []Member) {
	a, b := prev.Members, v.Members
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) == 0 || len(b) > 0 && b[0].ID < a[0].ID:
			joined, b = append(joined, b[0]), b[1:]
		case len(b) == 0 || a[0].ID < b[0].ID:
			left, a = append(left, a[0]), a[1:]
		default:
			if !same(a[0], b[0]) {
				changed = append(changed, b[0])
			}
			a, b = a[1:], b[1:]
		}
	}
	return joined, left, changed
}

// Decode returns the data of the members of v, by ID, as decode makes them of the bytes:
// a function such as that of a config.Codec. A member whose data decode does not accept
// is left out, and the error names it and says why; it is an error for each of them, in
// the order of their IDs, or nil.
func Decode[T any](v View, decode func(data []byte) (T, error)) (map[string]T, error) {
	all := make(map[string]T, len(v.Members))
	var wrong []error
	for _, m := range v.Members {
		value, err := decode(m.Data)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("members: data of %s: %w", m.ID, err))
			continue
		}
		all[m.ID] = value
	}
	return all, errors.Join(wrong...)
}

package leader

import "testing"

// What was read before the leader's own last change, and comes after the reply to that, is
// not taken for the announcement of now; what comes later is, and so is all that comes while
// it is not known what the last change did.
func TestStaleNews(t *testing.T) {
	old, now := sight{ours, 1, []byte("old")}, sight{ours, 2, []byte("now")}
	for _, tt := range []struct {
		a    announcer
		s    sight
		want bool // what is heard counts
	}{
		{announcer{at: now}, old, false},
		{announcer{at: old}, now, true},
		{announcer{at: now, unsure: true}, old, true},
		{announcer{at: now}, sight{owner: another, version: 1}, true},
		{announcer{at: now}, sight{}, true},
		{announcer{at: sight{owner: another, version: 7}}, old, true},
	} {
		got := tt.a.heard(tt.s).at
		if heard := got.owner == tt.s.owner && got.version == tt.s.version; heard != tt.want {
			t.Errorf("%+v heard %+v: %+v", tt.a, tt.s, got)
		}
	}
}

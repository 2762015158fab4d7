package leader

// serve carries out a request of side i.
func (m *model) serve(i int8, v verb, version int32, data byte) reply {
	n := m.node
	as := n.there && n.version == version
	guarded := v != look && v != remove && !m.step.unguarded
	switch {
	case v == look:
		return carriedOut
	case guarded && !m.sides[i].place:
		return deposed
	case v == create && n.there, v == replace && !as, v == set && !as, v == remove && !as, v == retract && !n.there:
		return outdated
	case v == remove && m.rule.spares && n.owner != i:
		m.fault = "the announcement of another is removed"
		return carriedOut
	case v == remove, v == retract:
		m.change(znode{})
		return carriedOut
	}
	if !m.sides[i].place {
		m.fault = "a leader that was deposed has written"
	}
	switch v {
	case set:
		m.change(znode{there: true, owner: n.owner, version: n.version + 1, data: data})
	case replace:
		m.change(znode{there: true, owner: i, version: m.step.replacing(version), data: data})
	default:
		m.change(znode{there: true, owner: i, data: data})
	}
	return carriedOut
}

// change makes n the announcement.
func (m *model) change(n znode) {
	m.node = n
	for i := range m.sides {
		m.sides[i].news = true
	}
}

// sight is the announcement as side i sees it.
func (m *model) sight(i int8) sight {
	first := [2]byte{'a', 'A'}[i]
	switch n := m.node; {
	case !n.there:
		return sight{}
	case n.owner == i && (n.data == 0 || n.data >= first && n.data < first+26):
		return sight{ours, n.version, text[n.data]}
	default:
		return sight{owner: another, version: n.version}
	}
}

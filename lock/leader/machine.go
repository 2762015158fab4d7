package leader

import "bytes"

// An owner says whose an announcement is.
type owner uint8

const (
	nobody  owner = iota // there is none
	another              // anybody's but ours: of another session, another term, or unreadable
	ours                 // of this term, in this session
)

// A sight is the announcement as it was at one moment.
type sight struct {
	owner   owner
	version int32
	data    []byte // only if it is ours
}

// A verb is what is to be done about the announcement.
type verb uint8

const (
	wait    verb = iota // until something has happened
	look                // read it
	create              // make it
	replace             // put ours in the place of that version
	set                 // write that version, which is ours
	retract             // remove it, if we still lead
	remove              // remove that version, which is ours, though we lead no more
	finish              // nothing remains to be done
)

// A reply is what became of what was done.
type reply uint8

const (
	carriedOut reply = iota
	outdated         // the announcement is not as it was thought to be, and nothing was done
	deposed          // we lead no more, and nothing was done
	refused          // the ensemble does not allow it
	unknown          // it may have been carried out
)

// An announcer is what the leader of one term knows of its announcement. It does no I/O: what
// is to be done next is a function of it and of what the announcement is to say. It begins
// as one that has seen none.
//
// Create, replace, set and retract are transactions that check the leader's znode in the
// queue. So they are carried out only while it leads, in whatever state the announcement
// is. Remove is bound to a version alone. So what replaces an announcement has another
// version: see replacing.
type announcer struct {
	at      sight // what was last seen
	unsure  bool  // and that may be wrong
	exposed bool  // something of ours may be there
	over    bool  // the term is over
	deposed bool  // the ensemble has said so
	barred  bool  // it was refused; for now nothing more is tried
}

// next returns what is to be done next, for an announcement that is to be want.
func (a announcer) next(want []byte) verb {
	if a.over {
		switch {
		case !a.exposed:
			return finish
		case !a.deposed:
			return retract
		case a.unsure:
			return look
		case a.at.owner == ours:
			return remove
		}
		return finish
	}
	switch {
	case a.deposed, a.barred:
		return wait
	case a.unsure:
		return look
	case a.at.owner == nobody:
		return create
	case a.at.owner == another:
		return replace
	case !bytes.Equal(a.at.data, want):
		return set
	}
	return wait
}

// announced reports whether the announcement is want, as far as is known.
func (a announcer) announced(want []byte) bool {
	return !a.unsure && a.at.owner == ours && bytes.Equal(a.at.data, want)
}

// heard returns a after it was told that the announcement is now as in s. What was read
// before its own last change may come after the reply to that, and says nothing.
func (a announcer) heard(s sight) announcer {
	stale := !a.unsure && a.at.owner == ours && s.owner == ours && s.version < a.at.version
	if !a.over && !stale {
		a.at, a.unsure = s, false
	}
	return a
}

// looked returns a after it has read the announcement.
func (a announcer) looked(s sight) announcer {
	a.at, a.unsure = s, false
	return a
}

// after returns a after the reply to v, which was to make the announcement want. If v was
// to look, the reply is not carriedOut: see looked.
func (a announcer) after(v verb, r reply, want []byte) announcer {
	a.exposed = a.exposed || r == unknown
	switch {
	case r == refused && a.over:
		a.exposed = false // it stays until the session ends
	case r == refused:
		a.barred = true
	case r == deposed:
		a.deposed, a.unsure = true, true
	case v == retract && r != unknown:
		a.exposed = false
	case v == remove && r == carriedOut:
		a.exposed = false
	case r != carriedOut:
		a.unsure = true
	case v == set:
		a.at = sight{ours, a.at.version + 1, want}
	case v == replace:
		a.at, a.exposed = sight{ours, replacing(a.at.version), want}, true
	default: // created
		a.at, a.exposed = sight{ours, 0, want}, true
	}
	return a
}

// replacing returns the version that our announcement begins with if it replaces one of
// version old. It is another one: the former leader may be about to remove what it read.
func replacing(old int32) int32 {
	if old == 0 {
		return 1
	}
	return 0
}

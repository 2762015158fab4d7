package leader

import "fmt"

// A model has two leaders, the second of which leads when the first one's place in the
// queue is gone; a server, which carries requests out one after another; and an operator.
// It is copied by assignment.
type model struct {
	rule   *rule
	step   steps
	node   znode
	sides  [2]side
	budget budget
	fault  string
}

// A znode is the announcement as the server has it.
type znode struct {
	there   bool
	owner   int8 // the side in whose session it is; operator otherwise
	version int32
	data    byte // of side i, 'a' or 'A' and what follows; 0 if the operator wrote it
}

const operator = 2

// A budget says how often each thing that need not happen may still happen.
type budget struct{ release, depose, erase, scribble, usurp, loss, publish, refuse, expire int8 }

// A side is one leader with its announcer and its driver.
type side struct {
	a     announcer
	place bool // its znode in the queue is there
	began bool
	ends  bool // its term is over, which the announcer may not know yet
	done  bool // the announcer is
	stays bool // the ensemble has refused the removal

	want    byte
	phase   phase
	verb    verb
	version int32
	data    byte
	reply   reply
	seen    sight
	asks    int8

	late     bool // a write without an answer may still be carried out
	lateVerb verb
	lateAt   int32
	lateData byte

	follows bool
	news    bool // the announcement has changed since it was heard of
}

type phase uint8

const (
	idle phase = iota
	sent
	answered
)

// steps are the announcer's, or those of one that is wrong.
type steps struct {
	next      func(announcer, []byte) verb
	heard     func(announcer, sight) announcer
	after     func(announcer, verb, reply, []byte) announcer
	replacing func(int32) int32
	unguarded bool
}

var right = steps{next: announcer.next, heard: announcer.heard, after: announcer.after, replacing: replacing}

// text has each byte as data, so that no state shares memory that is written to.
var text = func() (all [256][]byte) {
	for i := range all {
		all[i] = []byte{byte(i)}
	}
	return all
}()

func newModel(r *rule, s steps) model {
	m := model{rule: r, step: s, budget: r.budget}
	for i := range m.sides {
		m.sides[i] = side{place: true, want: [2]byte{'a', 'A'}[i]}
	}
	return m
}

// A doing is something that can happen.
type doing uint8

const (
	begins    doing = iota + 1 // it leads from now on
	acts                       // the announcer begins what is next
	serves                     // the server does it
	servesOld                  // the server does what was asked for before the connection was lost
	answers                    // the announcer has the answer
	loses                      // the connection is lost, with the request or with the answer
	hears                      // the announcer hears of the announcement
	releases                   // the owner gives the term up
	departs                    // its znode in the queue is removed
	deposes                    // an operator removes that
	learns                     // the owner hears of it
	notices                    // the announcer hears that the term is over
	publishes                  // there is a new value
	declines                   // the ensemble refuses the request
	blinded                    // the ensemble refuses to let it follow the announcement
	retries                    // after a pause
	expires                    // the session ends
	erases                     // an operator deletes the announcement
	scribbles                  // or writes over it
	usurps                     // or puts another in its place
)

var doings = [...]string{"", "begins", "acts", "served", "served late", "answered", "loses its connection", "hears", "is released",
	"departs", "is deposed", "learns it", "notices the end", "publishes", "is refused", "may not follow", "tries again", "expires",
	"the announcement is deleted", "is written over", "is replaced"}

// An act is something that happens to a side, or to the announcement.
type act struct {
	what doing
	who  int8
}

func (a act) String() string { return fmt.Sprint(a.who, " ", doings[a.what]) }

// Enabled returns what can happen next.
func (m *model) Enabled() (all []act) {
	for i := range int8(len(m.sides)) {
		s := &m.sides[i]
		can := func(ok bool, what doing) {
			if ok {
				all = append(all, act{what, i})
			}
		}
		live := s.began && !s.done
		quiet := live && s.phase == idle
		next := wait
		if quiet {
			next = m.step.next(s.a, text[s.want])
		}
		waits := quiet && next == wait
		can(!s.began && s.place && (i == 0 || !m.sides[0].place), begins)
		can(quiet && (next != wait || m.follows(s)), acts)
		can(s.phase == sent, serves)
		can(s.phase == sent && m.budget.refuse > 0, declines)
		can(s.late, servesOld)
		can(s.phase == answered, answers)
		can(live && s.phase != idle && s.verb != look && m.budget.loss > 0, loses)
		can(waits && s.news && s.follows, hears)
		can(s.began && !s.ends && m.budget.release > 0, releases)
		can(s.ends && s.place, departs)
		can(s.place && m.budget.depose > 0, deposes)
		can(s.began && !s.place && !s.ends, learns)
		can(quiet && s.ends && !s.a.over, notices)
		can(waits && !s.ends && m.budget.publish > 0, publishes)
		can(waits && s.follows && m.budget.refuse > 0, blinded)
		can(waits && s.a.barred, retries)
		can(live && m.budget.expire > 0, expires)
	}
	if m.node.there {
		for what, left := range map[doing]int8{erases: m.budget.erase, scribbles: m.budget.scribble, usurps: m.budget.usurp} {
			if left > 0 {
				all = append(all, act{what, operator})
			}
		}
	}
	return all
}

// follows reports whether the announcer of s is about to follow the announcement.
func (m *model) follows(s *side) bool {
	return !s.follows && !s.a.deposed && !s.a.barred && !s.a.over && s.a.announced(text[s.want])
}

// Do lets a happen, and returns what was wrong with that, if anything.
func (m *model) Do(a act) string {
	if a.who == operator {
		switch a.what {
		case erases:
			m.budget.erase--
			m.change(znode{})
		case scribbles:
			m.budget.scribble--
			m.change(znode{there: true, owner: m.node.owner, version: m.node.version + 1})
		case usurps:
			m.budget.usurp--
			m.change(znode{there: true, owner: operator})
		}
		return m.fault
	}
	s := &m.sides[a.who]
	switch a.what {
	case begins:
		s.began = true
	case acts:
		m.act(s)
	case serves:
		s.phase = answered
		if s.verb != look {
			s.late = false // it was carried out before this, or never will be
		}
		s.reply = m.serve(a.who, s.verb, s.version, s.data)
		s.seen = m.sight(a.who)
	case declines:
		m.budget.refuse--
		s.phase, s.reply = answered, refused
		s.stays = s.stays || s.a.over
	case servesOld:
		s.late = false
		m.serve(a.who, s.lateVerb, s.lateAt, s.lateData)
	case answers:
		s.phase = idle
		if s.verb == look && s.reply == carriedOut {
			s.a = s.a.looked(s.seen)
		} else {
			s.a = m.step.after(s.a, s.verb, s.reply, text[s.data])
		}
	case loses:
		m.budget.loss--
		s.news = true // it is read again
		switch {
		case s.verb == remove:
			s.phase = sent // again, until there is an answer
		case s.phase == sent:
			s.late, s.lateVerb, s.lateAt, s.lateData = true, s.verb, s.version, s.data
			s.phase, s.reply = answered, unknown
		default:
			s.reply = unknown
		}
	case hears:
		s.news = false
		s.follows = m.node.there
		s.a = m.step.heard(s.a, m.sight(a.who))
	case releases:
		m.budget.release--
		s.ends = true
	case departs:
		s.place = false
	case deposes:
		m.budget.depose--
		s.place = false
	case learns:
		s.ends = true
	case notices:
		s.a.over, s.follows = true, false
	case publishes:
		m.budget.publish--
		s.want++
		s.a.barred = false
	case blinded:
		m.budget.refuse--
		s.a.barred, s.follows = true, false
	case retries:
		s.a.barred = false
	case expires:
		m.budget.expire--
		s.ends, s.done, s.place, s.phase, s.late, s.follows = true, true, false, idle, false, false
		if m.node.there && m.node.owner == a.who {
			m.change(znode{})
		}
	}
	return m.fault
}

// act has the announcer of s begin what is next.
func (m *model) act(s *side) {
	v := m.step.next(s.a, text[s.want])
	switch v {
	case finish:
		s.done, s.follows = true, false
		return
	case wait:
		s.follows, s.news = true, true
		return
	}
	s.phase, s.verb, s.version, s.data = sent, v, s.a.at.version, s.want
	if s.asks++; s.asks > 20 {
		m.fault = "asks without end"
	}
}

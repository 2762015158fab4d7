package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A Script is a world and what happens in it, one line for each operation and each fault.
// Its text is the reproduction of what a run of it has shown: [Parse] and [Script.String]
// are inverse, and the same script gives the same history.
type Script struct {
	Seed     uint64          // of latencies, jitters and ids
	Clients  int             // that there are, from c1 on
	Timeouts []time.Duration // of their sessions, taken in turn
	End      time.Duration   // when all faults are over, and operations must come to their ends
	Lines    []Line          // in the order of their times
}

// A Line is an operation or a fault.
type Line struct {
	At    time.Duration
	words []string
	form  *form
}

// A form is what a line looks like. Words in upper case stand for parameters.
type form struct {
	words []string
	// op is done on a goroutine of its own, fault on that of the world. One of them is nil.
	op    func(a *actor)
	fault func(w *world, l Line)
}

const maxClients = 63

// Parse reads a script. Empty lines and those that begin with # do not count.
func Parse(text string) (*Script, error) {
	s := &Script{Clients: 1, Timeouts: []time.Duration{6 * time.Second}}
	for n, text := range strings.Split(text, "\n") {
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		if err := s.parse(strings.Fields(text)); err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", n+1, text, err)
		}
	}
	slices.SortStableFunc(s.Lines, func(a, b Line) int { return int(a.At - b.At) })
	for _, l := range s.Lines {
		s.End = max(s.End, l.At)
		if l.form.op != nil && l.client() > s.Clients {
			return nil, fmt.Errorf("%s: there are %d clients", l, s.Clients)
		}
	}
	return s, nil
}

func (s *Script) parse(words []string) (err error) {
	switch {
	case words[0] == "at" && len(words) > 2:
		l, err := parseLine(words[1:])
		if err == nil {
			s.Lines = append(s.Lines, l)
		}
		return err
	case words[0] == "timeouts" && len(words) > 1:
		s.Timeouts = nil
		for _, word := range words[1:] {
			d, err := time.ParseDuration(word)
			if err != nil || d < 4*time.Second {
				return errors.New("timeouts are durations from 4s")
			}
			s.Timeouts = append(s.Timeouts, d)
		}
		return nil
	case len(words) != 2:
		return errors.New("not understood")
	}
	switch words[0] {
	case "seed":
		s.Seed, err = strconv.ParseUint(words[1], 10, 64)
	case "clients":
		if s.Clients, err = strconv.Atoi(words[1]); s.Clients < 1 || s.Clients > maxClients {
			return fmt.Errorf("from 1 to %d clients", maxClients)
		}
	case "end":
		s.End, err = time.ParseDuration(words[1])
	default:
		return errors.New("not understood")
	}
	return err
}

// parseLine reads a line without its first word, "at".
func parseLine(words []string) (Line, error) {
	at, err := time.ParseDuration(words[0])
	if err != nil || at < 0 {
		return Line{}, errors.New("no time")
	}
	for i := range forms {
		f := &forms[i]
		if said, ok := f.match(words[1:]); ok {
			return Line{at, said, f}, nil
		}
	}
	return Line{}, errors.New("not understood")
}

// match returns words as a script has them, and whether they have the form f.
func (f *form) match(words []string) (said []string, ok bool) {
	if len(words) != len(f.words) {
		return nil, false
	}
	for i, word := range words {
		switch want := f.words[i]; want {
		case "CLIENT":
			n, err := strconv.Atoi(strings.TrimPrefix(word, "c"))
			ok = err == nil && 1 <= n && n <= maxClients && word == fmt.Sprint("c", n)
		case "PATH":
			ok = word[0] == '/' && len(word) > 1
		case "DUR":
			d, err := time.ParseDuration(word)
			ok, word = err == nil && d >= 0, d.String()
		case "N":
			n, err := strconv.Atoi(word)
			ok, word = err == nil && n >= 0, fmt.Sprint(n)
		case "DIR":
			_, ok = directions[word]
		case "OP": // of a frame
			ok = true
		default:
			ok = word == want
		}
		if !ok {
			return nil, false
		}
		said = append(said, word)
	}
	return said, true
}

var directions = map[string]coordtest.Direction{
	"to-server": coordtest.ToServer,
	"to-client": coordtest.ToClient,
	"both":      coordtest.Both,
}

// String returns the text of s.
func (s *Script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\nclients %d\ntimeouts", s.Seed, s.Clients)
	for _, d := range s.Timeouts {
		fmt.Fprintf(&b, " %v", d)
	}
	fmt.Fprintf(&b, "\nend %v\n", s.End)
	for _, l := range s.Lines {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

func (l Line) String() string { return fmt.Sprintf("at %v %s", l.At, strings.Join(l.words, " ")) }

// verb returns what the line does, without its parameters.
func (l Line) verb() string {
	for _, word := range l.form.words {
		if word[0] >= 'a' {
			return word
		}
	}
	return ""
}

// param returns the n-th parameter of a kind, "" if there are not so many.
func (l Line) param(kind string, n int) string {
	for i, word := range l.form.words {
		if word == kind {
			if n == 0 {
				return l.words[i]
			}
			n--
		}
	}
	return ""
}

func (l Line) client() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(l.param("CLIENT", 0), "c")) // checked by match, as are the others
	return n
}

func (l Line) path() string { return l.param("PATH", 0) }

func (l Line) dur(n int) time.Duration {
	d, _ := time.ParseDuration(l.param("DUR", n))
	return d
}

func (l Line) number() int {
	n, _ := strconv.Atoi(l.param("N", 0))
	return n
}

func (l Line) dir() coordtest.Direction { return directions[l.param("DIR", 0)] }

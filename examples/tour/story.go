package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

// A moment is something that a contender sees or does.
type moment string

const (
	asks      moment = "asks"
	waits     moment = "waits"
	acquired  moment = "ACQUIRED"
	writes    moment = "writes"
	refused   moment = "refused"
	suspended moment = "suspended"
	connected moment = "connected"
	lost      moment = "LOST"
	leaves    moment = "leaves"
	releases  moment = "releases"

	reading    moment = "READING"
	writing    moment = "WRITING"
	downgrades moment = "downgrades"

	sees    moment = "sees"
	sets    moment = "sets"
	adjusts moment = "adjusts"

	leads     moment = "LEADS"
	resigns   moment = "resigns"
	finds     moment = "finds"
	permitted moment = "PERMITTED"
)

// A note is one line of the story.
type note struct {
	at    time.Duration
	who   string
	what  moment
	text  string
	token coord.Token // of acquired
}

// A story prints what happens, when it happens, and lets the script wait for it.
type story struct {
	out    io.Writer
	colors bool
	start  time.Time

	mu     sync.Mutex
	notes  []note
	seen   int           // how many of notes await has looked at
	margin time.Duration // between a loss and the next acquisition
	err    error         // what went wrong; the first counts
	change chan struct{} // closed and replaced when one of the above changes

	inside   []guest     // those that have the shared lock
	greatest coord.Token // of those who have had it
	admitted int         // how many have a permit
}

func newStory(out io.Writer, colors bool) *story {
	return &story{out: out, colors: colors, start: time.Now(), change: make(chan struct{})}
}

func (s *story) say(who string, what moment, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(note{who: who, what: what, text: fmt.Sprintf(format, args...)})
}

// acquired notes an acquisition, and checks it against the one before: the token
// is greater, and the former holder has let go or was told.
func (s *story) acquired(who string, token coord.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("token %d", token)
	if n, ok := s.last(releases, lost, acquired); ok {
		since := time.Since(s.start) - n.at
		switch n.what {
		case releases:
			text += fmt.Sprintf(", %s after %s let go", ms(since), n.who)
		case lost:
			s.margin = since
			text += fmt.Sprintf(", %s after %s was told LOST", ms(since), n.who)
		case acquired:
			s.failed(fmt.Errorf("%s and %s have the lock at the same time", n.who, who))
		}
	}
	if n, ok := s.last(acquired); ok && n.token >= token {
		s.failed(fmt.Errorf("token %d of %s comes after token %d of %s", token, who, n.token, n.who))
	}
	s.add(note{who: who, what: acquired, text: text, token: token})
}

// last returns the newest note of one of the kinds.
func (s *story) last(kinds ...moment) (note, bool) {
	for _, n := range slices.Backward(s.notes) {
		if slices.Contains(kinds, n.what) {
			return n, true
		}
	}
	return note{}, false
}

// fail ends the tour.
func (s *story) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed(err)
}

// failure returns what went wrong.
func (s *story) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *story) failed(err error) {
	if s.err == nil {
		s.err = err
		s.changed()
	}
}

func (s *story) add(n note) {
	n.at = time.Since(s.start)
	s.notes = append(s.notes, n)
	s.print(n.at, n.who, n.what, n.text)
	s.changed()
}

func (s *story) changed() {
	close(s.change)
	s.change = make(chan struct{})
}

// await waits for who to say what, from where the last await ended, and says
// each second what it waits for. It does nothing once something has gone wrong.
func (s *story) await(ctx context.Context, who string, what moment, why string) {
	progress := time.NewTicker(time.Second)
	defer progress.Stop()
	for {
		found, change := s.look(who, what)
		if found {
			return
		}
		select {
		case <-change:
		case <-progress.C:
			s.aside("... waiting for " + why)
		case <-ctx.Done():
			s.fail(fmt.Errorf("%w, while waiting for %s", context.Cause(ctx), why))
		}
	}
}

// look looks for who to say what among the notes not looked at yet, and returns
// whether it was found or need not be looked for, and when to look again.
func (s *story) look(who string, what moment) (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && s.seen < len(s.notes) {
		n := s.notes[s.seen]
		s.seen++
		if n.who == who && n.what == what {
			return true, nil
		}
	}
	return s.err != nil, s.change
}

// chapter prints what comes next.
func (s *story) chapter(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "\n%s\n", s.paint("1", text))
}

// aside prints what none of the contenders says.
func (s *story) aside(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print(time.Since(s.start), "", "", text)
}

func (s *story) print(at time.Duration, who string, what moment, text string) {
	line := fmt.Sprintf("%6d  %-4s  ", at.Milliseconds(), who)
	if what == "" {
		line += text
	} else {
		word := fmt.Sprintf("%-11s", what)
		switch what {
		case acquired, reading, writing, leads, permitted:
			word = s.paint("32", word)
		case lost, refused:
			word = s.paint("31", word)
		}
		line += word + text
	}
	fmt.Fprintln(s.out, strings.TrimRight(line, " "))
}

func (s *story) paint(color, text string) string {
	if !s.colors {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// ms prints a duration as people read it here.
func ms(d time.Duration) string {
	digits := 0
	if d < 100*time.Millisecond {
		digits = 1
	}
	return fmt.Sprintf("%.*f ms", digits, d.Seconds()*1000)
}

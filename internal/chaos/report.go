package chaos

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/internal/history"
)

// A Result is what a run has shown.
type Result struct {
	Options
	Took       time.Duration
	Kills      int64           // of servers
	Restarts   int64           // of all servers, because they did not come together after a fault
	ServerLogs map[string]int  // how often a follower has got DIFF, SNAP and TRUNC
	History    *history.Report // nil if there is no history
	// Refused counts the writes of holders that were stopped until the next held, by the
	// way in which they were refused: "token" and "guard".
	Refused map[string]int

	// Diverged is how often a server had no answer to what its leader has carried out. If it
	// is not zero, the servers broke their promises, and a violation may be theirs.
	Diverged int

	violations []history.Violation // besides those of History
	halts      []halt
	queued     map[string]int // how often an item is in the queue or has a result; nil if not known
}

// wrong adds a violation.
func (r *Result) wrong(rule, text string, events ...history.Event) {
	r.violations = append(r.violations, history.Violation{Rule: rule, Text: text, Events: events})
}

// Violations returns all promises that were not kept.
func (r *Result) Violations() []history.Violation {
	all := r.violations
	if r.History != nil {
		all = slices.Concat(all, r.History.Violations)
	}
	return all
}

// synced are the words with which the log of a follower says how the leader has brought it
// up to date.
var synced = map[string]string{
	"DIFF":  "Getting a diff from the leader",
	"SNAP":  "Getting a snapshot from leader",
	"TRUNC": "Truncating log to get in sync with the leader",
}

// diverged is what a server logs when it has no answer to what the leader has carried out,
// because a znode is there and not here. That is a fault of ZooKeeper's; sessions on the
// server do not get on.
const diverged = "Unexpected exception. Destruction averted."

// check looks at what the run has left in its directory.
func (r *Result) check() error {
	logs, err := filepath.Glob(filepath.Join(r.Dir, "logs", "*.log"))
	if err != nil {
		return err
	}
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		r.Diverged += strings.Count(string(text), diverged)
		for how, words := range synced {
			r.ServerLogs[how] += strings.Count(string(text), words)
		}
	}
	events, err := histories(r.Dir)
	if err != nil {
		return err
	}
	opts := []history.Option{history.Complete()}
	for _, f := range Stale {
		opts = append(opts, history.Stale(f, 10*time.Second))
	}
	r.History = history.Check(events, opts...)
	r.History.Died = r.History.Faults["kill client"] // the history counts their actors
	r.woken(events)
	r.items(events)
	return nil
}

// Stale are the faults, beside [history.Isolate], after which one that led before may not know
// yet that another does.
var Stale = []string{"freeze leader", "freeze all", "cut link", "stutter", "slow line", "isolate follower"}

// woken checks that all that a stopped holder wrote, after the next had written, was
// refused.
func (r *Result) woken(events []history.Event) {
	r.Refused = map[string]int{"token": 0, "guard": 0}
	ways := map[string]string{history.Fenced: "token", history.Guarded: "guard"}
	for _, s := range r.halts {
		if !s.replaced {
			continue
		}
		calls, refused := make(map[int64]bool), make(map[string]int)
		for _, e := range events {
			if e.Proc != s.actor || e.Token != int64(s.token) || ways[e.F] == "" || e.At < s.resumed {
				continue
			}
			switch {
			case e.Kind == history.Call:
				calls[e.Op] = true
			case e.Kind == history.Refused && calls[e.Op]:
				r.Refused[ways[e.F]]++
				refused[ways[e.F]]++
			case e.Kind == history.OK && calls[e.Op]:
				r.wrong("stopped holder", "a write passed by its "+ways[e.F]+" after the next had written", e)
			}
		}
		if len(refused) < len(ways) {
			r.wrong("stopped holder", fmt.Sprintf("%s with the token %#x has woken, and of its writes were refused: %v", s.actor, s.token, refused))
		}
	}
}

// items checks that each item that was put is there once.
func (r *Result) items(events []history.Event) {
	if r.queued == nil {
		return
	}
	for _, e := range events {
		if n := r.queued[e.Value]; e.F == history.Put && e.Kind == history.OK && n != 1 || e.F == history.Put && n > 1 {
			r.wrong("items", fmt.Sprintf("the item %q is there %d times", e.Value, n), e)
		}
	}
}

// Missing says what a run of some minutes should have shown and has not.
func (r *Result) Missing() string {
	var missing []string
	least := func(n int, what string) {
		if n == 0 {
			missing = append(missing, what)
		}
	}
	if !r.Short && r.For < 5*time.Minute {
		return ""
	}
	least(int(r.Kills), "a server that was killed")
	least(r.Refused["token"], "a write of a stopped holder refused by its token")
	least(r.Refused["guard"], "a write of a stopped holder refused by its guard")
	if r.History != nil {
		least(r.History.Faults[history.Isolate], "an isolated leader")
		least(r.History.Died, "a client that was killed")
	}
	if !r.Short {
		for how, n := range r.ServerLogs {
			least(n, "a follower brought up to date by "+how)
		}
	}
	return strings.Join(missing, ", ")
}

// Write writes the result as a table.
func (r *Result) Write(w io.Writer) error {
	b := new(strings.Builder)
	fmt.Fprintf(b, "chaos: %d servers, %d client processes, seed %d, %v\n\n", r.Nodes, r.Clients, r.Seed, r.Took.Round(time.Second))
	if r.History != nil {
		if err := r.History.Write(b); err != nil {
			return err
		}
	}
	faults, isolated := 0, 0
	if r.History != nil {
		for f, n := range r.History.Faults {
			switch f {
			case history.Pause: // counted by what it was for
			case history.Isolate:
				isolated += n
			case "kill leader", "kill follower", "outage", "log ahead", "wipe follower":
			default:
				faults += n
			}
		}
	}
	fmt.Fprintf(b, "\nservers killed: %d; leaders isolated: %d; other faults: %d\n", r.Kills, isolated, faults)
	for _, how := range slices.Sorted(maps.Keys(r.ServerLogs)) {
		fmt.Fprintf(b, "%s: %d  ", how, r.ServerLogs[how])
	}
	fmt.Fprintf(b, "(followers brought up to date, by the servers' logs)\n")
	if r.Restarts > 0 {
		fmt.Fprintf(b, "servers started anew because they did not come together: %d times\n", r.Restarts)
	}
	if r.Diverged > 0 {
		fmt.Fprintf(b, "THE SERVERS' DATA DIFFER: %d times a server had no answer to what its leader had carried out\n", r.Diverged)
	}
	replaced := 0
	for _, s := range r.halts {
		if s.replaced {
			replaced++
		}
	}
	fmt.Fprintf(b, "holders stopped until the next held: %d; their writes refused: %d by token, %d by guard\n", replaced, r.Refused["token"], r.Refused["guard"])
	if least, ok := r.smallest(); ok {
		fmt.Fprintf(b, "smallest margin: %v, of %s, in %q\n", least.Least.Round(time.Microsecond), least.Recipe, least.Cause)
	}
	for _, v := range r.violations {
		fmt.Fprintf(b, "%v\n", v)
	}
	fmt.Fprintf(b, "violations in all: %d\n", len(r.Violations()))
	_, err := io.WriteString(w, b.String())
	return err
}

// smallest returns the smallest margin after a loss.
func (r *Result) smallest() (history.Margin, bool) {
	if r.History == nil {
		return history.Margin{}, false
	}
	return r.History.Smallest()
}

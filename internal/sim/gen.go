package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A Size is how large a script is to be.
type Size struct {
	Clients int
	Time    time.Duration
	Op      time.Duration // of a client, from one operation to the next, on average
	Fault   time.Duration // from one fault to the next, on average
}

// Generate makes a script of a seed.
func Generate(seed uint64, size Size) *Script {
	g := &generator{rand.New(rand.NewPCG(seed, 0)), size, &Script{Seed: seed, Clients: size.Clients, End: size.Time}}
	g.s.Timeouts = [][]time.Duration{
		{4 * time.Second, 6 * time.Second, 10 * time.Second},
		{4 * time.Second},
		{30 * time.Second, 5 * time.Second},
	}[g.IntN(3)]
	for i, path := range followed {
		g.line(g.wait(size.Time/4), "%s watch %s for 1h", g.client(), path)
		if i < contended {
			g.line(g.wait(size.Time/4), "%s watch %s for %v", g.client(), path, g.Dur(10, 600))
		}
	}
	for at := time.Duration(0); at < size.Time; at += g.wait(size.Op / time.Duration(size.Clients)) {
		g.op(at)
	}
	for at := g.wait(size.Fault); at < size.Time; at += g.wait(size.Fault) {
		g.fault(at)
	}
	s, err := Parse(g.s.String()) // sorted
	if err != nil {
		panic("sim: " + err.Error())
	}
	return s
}

type generator struct {
	*rand.Rand
	size Size
	s    *Script
}

// line adds a line.
func (g *generator) line(at time.Duration, format string, args ...any) {
	at = at.Truncate(time.Millisecond)
	s, err := Parse(fmt.Sprintf("clients 63\nat %v %s", at, fmt.Sprintf(format, args...)))
	if err != nil {
		panic("sim: " + err.Error())
	}
	g.s.Lines = append(g.s.Lines, s.Lines...)
}

func pick[T any](g *generator, all ...T) T { return all[g.IntN(len(all))] }

func (g *generator) client() string { return fmt.Sprint("c", 1+g.IntN(g.size.Clients)) }

// wait returns how long it is to the next of what comes at random.
func (g *generator) wait(mean time.Duration) time.Duration {
	return time.Duration(g.ExpFloat64() * float64(mean))
}

// Dur returns a time of so many tenths of a second, evenly distributed.
func (g *generator) Dur(least, most int) time.Duration {
	return time.Duration(least+g.IntN(most-least+1)) * 100 * time.Millisecond
}

// followed are the paths that somebody watches, to the end; and the first, of things for
// which clients contend, somebody else for a while.
var followed = []string{
	"/lock/a", "/rwlock/a", "/leader/a", "/semaphore/a", "/members/a", "/claim/a", "/config/a", "/counter/a", "/tree/a",
}

const contended = 6

// op adds an operation.
func (g *generator) op(at time.Duration) {
	c := g.client()
	one := func(recipe string) string { return "/" + recipe + "/" + pick(g, "a", "a", "b") }
	hold := g.Dur(0, 30)
	switch g.IntN(24) {
	case 0, 1:
		g.line(at, "%s lock %s hold %v", c, one("lock"), hold)
	case 2:
		g.line(at, "%s lock %s wait %v hold %v", c, one("lock"), g.Dur(0, 100), hold)
	case 3:
		g.line(at, "%s trylock %s hold %v", c, one("lock"), hold)
	case 4:
		g.line(at, "%s all %s hold %v", c, pick(g, "/lock/a /lock/b", "/lock/b /lock/c", "/lock/c /lock/a"), hold)
	case 5:
		g.line(at, "%s claim %s hold %v", c, one("claim"), hold)
	case 6, 7:
		g.line(at, "%s read %s hold %v", c, one("rwlock"), hold)
	case 8:
		g.line(at, "%s %s %s hold %v", c, pick(g, "write", "downgrade"), one("rwlock"), hold)
	case 9:
		g.line(at, "%s campaign %s hold %v", c, one("leader"), hold)
	case 10:
		g.line(at, "%s candidate %s for %v", c, one("leader"), g.Dur(20, 300))
	case 11, 12:
		g.line(at, "%s permit %s hold %v", c, one("semaphore"), 2*hold)
	case 13:
		if g.IntN(4) == 0 {
			g.line(at, "%s resize %s to %d", c, one("semaphore"), 1+g.IntN(5))
			return
		}
		g.line(at, "%s join %s hold %v", c, one("members"), hold)
	case 14:
		g.line(at, "%s member %s for %v", c, one("members"), g.Dur(20, 300))
	case 15, 16:
		g.line(at, "%s enter %s wait %v hold %v", c, one("barrier"), g.Dur(50, 200), hold)
	case 17:
		g.line(at, "%s %s %s", c, pick(g, "close", "open", "pass"), one("gate"))
	case 18:
		g.line(at, "%s %s %s", c, pick(g, "set", "get", "modify"), one("config"))
	case 19:
		g.line(at, "%s modify %s", c, one("config"))
	case 20:
		g.line(at, "%s publish %s", c, one("tree"))
	case 21:
		g.line(at, "%s add %s %d", c, one("counter"), 1+g.IntN(9))
	case 22:
		g.line(at, "%s %s", c, pick(g, "sum "+one("counter"), "put "+one("queue")))
	case 23:
		g.line(at, "%s take %s hold %v", c, one("queue"), hold)
	}
}

// frames are those that a fault may hit.
var frames = []string{"any", "multi", "getData", "getChildren2", "exists", "sync", "delete", "setData", "create", "check", "event", "connect", "ping"}

// fault adds a fault.
func (g *generator) fault(at time.Duration) {
	c := g.client()
	dir := pick(g, "to-server", "to-client", "both")
	frame := pick(g, frames...)
	dirs := func() string {
		return pick(g, "/lock/a", "/rwlock/a", "/leader/a", "/semaphore/a", "/semaphore/a/locks", "/semaphore/a/leases", "/members/a", "/barrier/a", "/claim", "/config")
	}
	switch n := g.IntN(100); {
	case n < 12:
		g.line(at, "cut %s for %v", c, g.Dur(0, 80))
	case n < 32:
		g.line(at, "stall %s %s for %v", c, dir, g.Dur(0, 120))
	case n < 44:
		g.line(at, "lose %s %s %s", c, pick(g, "to-server", "to-client"), frame)
	case n < 56:
		g.line(at, "tear %s %s %s", c, pick(g, "to-server", "to-client"), frame)
	case n < 64:
		g.line(at, "tear-after %s %s %s", c, pick(g, "to-server", "to-client"), frame)
	case n < 78:
		g.line(at, "reset %s", c)
	case n < 83:
		g.line(at, "expire %s", c)
	case n < 88:
		g.line(at, "pause %s for %v", c, g.Dur(1, 80))
	case n < 90:
		g.line(at, "freeze for %v", g.Dur(0, 60))
	case n < 93:
		g.line(at, "isolate %d for %v", g.IntN(len(servers)), g.Dur(1, 150))
	case n < 97:
		g.line(at, "delete %s %d", dirs(), g.IntN(4))
	case n < 99:
		g.line(at, "deny %s for %v", dirs(), g.Dur(1, 30))
	default:
		g.line(at, "fill %s %d", pick(g, "/lock/b", "/rwlock/b", "/leader/b"), 1+g.IntN(5))
	}
}

package history

import "fmt"

// A view is what one stream has shown.
type view struct {
	last  int // index of the last Seen, or of a Suspended after it
	zxid  int64
	shown int // index of the event that has shown zxid
}

// views checks that streams do not go back, that all show the same of one change, and that
// those of processes that live have come to the final value.
func (c *checker) views() {
	type streamKey struct {
		op   int64
		path string
	}
	type change struct {
		path string
		zxid int64
	}
	streams := make(map[string]map[streamKey]*view)
	values := make(map[change]int)
	for i, e := range c.events {
		if e.Kind == Died {
			delete(streams, e.Proc)
		}
		if e.Kind != Seen && e.Kind != Suspended {
			continue
		}
		if streams[e.Proc] == nil {
			streams[e.Proc] = make(map[streamKey]*view)
		}
		key := streamKey{e.Op, e.Path}
		v := streams[e.Proc][key]
		if v == nil {
			v = &view{}
			streams[e.Proc][key] = v
		}
		v.last = i
		if e.Kind == Suspended {
			if e.F == Expired {
				v.zxid = 0
			}
			continue
		}
		if e.Zxid == 0 {
			continue
		}
		if e.Zxid < v.zxid {
			c.violation("views", fmt.Sprintf("a stream of %s on %s goes back", e.Proc, e.Path), v.shown, i)
		}
		v.zxid, v.shown = e.Zxid, i
		first, known := values[change{e.Path, e.Zxid}]
		if !known {
			values[change{e.Path, e.Zxid}] = i
		} else if c.events[first].Value != e.Value {
			c.violation("views", fmt.Sprintf("%s had two values in the change %#x", e.Path, e.Zxid), first, i)
		}
	}
	finals := make(map[string]*Operation)
	for _, o := range c.ops {
		if o.F == Final && o.Outcome == OK {
			finals[o.Path] = o
		}
	}
	for proc, of := range streams {
		for key, v := range of {
			final := finals[key.path]
			if final == nil {
				continue
			}
			if e := c.events[v.last]; e.Kind == Suspended || e.Value != final.Result {
				c.violation("views", fmt.Sprintf("a stream of %s on %s has not come to the final value", proc, key.path), v.last, final.Called.I, final.end)
			}
		}
	}
}

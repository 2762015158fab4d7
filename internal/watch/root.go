package watch

import (
	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// ManyChildren is how many children a directory must have for its changes to be asked for
// one by one. An older server hangs up when it is asked for that, and fewer are listed
// quickly. Only tests change it.
var ManyChildren = 128

// roots are the paths below which all is followed, and of which the server is asked to
// tell all that happens there once that pays: when a large directory has changed.
type roots map[string]*tree

// A tree is what the loop knows of a root.
type tree struct {
	users   int
	planted bool // it has been asked for, in this session
	barren  bool // it does not pay
	// useful and useless are how many events have come for what somebody follows, and for
	// what nobody does.
	useful, useless int
}

// maxUseless is how many events may come in vain, beside ten for each that has not.
const maxUseless = 1000

// add notes that somebody follows what is below path.
func (r roots) add(path string) {
	if r[path] == nil {
		r[path] = new(tree)
	}
	r[path].users++
}

// wither notes that the session is another, in which nothing has been asked for.
func (r roots) wither() {
	for _, at := range r {
		at.planted = false
	}
}

// above returns the root at or above path, the nearest if there are several; "" if there
// is none.
func (r roots) above(path string) string {
	for len(r) > 0 {
		if r[path] != nil {
			return path
		}
		if path == "/" {
			break
		}
		path = zkpath.Parent(path)
	}
	return ""
}

// told reports whether the children of the directory at path are told.
func (l *Loop) told(path string) bool {
	root := l.roots.above(path)
	return root != "" && l.roots[root].planted
}

// prepare asks for what happens below the root of f, of which children are to be read, if
// that pays; and again if less was told than there was. It reports whether the children
// may be known without a listing.
func (l *Loop) prepare(f *followed) bool {
	path := l.roots.above(f.path)
	if path == "" || !f.has || len(f.snap.Children) < ManyChildren {
		return path != "" && l.roots[path].planted
	}
	at := l.roots[path]
	if at.planted && !f.unlisted {
		return true
	}
	p, ok := l.source.(Planter)
	if at.planted = ok && !at.barren && p.Plant(path); at.planted {
		l.lose(path)
	}
	return false
}

// uproot notes that somebody no longer follows what is below path.
func (l *Loop) uproot(path string) {
	at := l.roots[path]
	if at.users--; at.users > 0 {
		return
	}
	delete(l.roots, path)
	l.clear(path, at)
}

// clear ends what prepare has asked for.
func (l *Loop) clear(path string, at *tree) {
	if at.planted {
		at.planted = false
		l.source.(Planter).Uproot(path)
		l.lose(path)
	}
}

// lose tells the entries at path that their watches may be gone.
func (l *Loop) lose(path string) {
	for _, k := range keysAt(path) {
		l.at(k, input{kind: lost})
	}
}

// weigh counts an event at path. If nobody follows most of what is told, deep below or
// passed over, it costs more than it saves.
func (l *Loop) weigh(path string) {
	root := l.roots.above(path)
	if root == "" || !l.roots[root].planted {
		return
	}
	at, dir := l.roots[root], ""
	if path != "/" {
		dir = zkpath.Parent(path)
	}
	all := keysAt(path)
	for _, k := range append(all[:], key{dir, event.Children, false}, key{dir, event.Children, true}) {
		if l.followed[k] != nil {
			at.useful++
			return
		}
	}
	if at.useless++; at.useless > maxUseless+10*at.useful {
		at.barren = true
		l.clear(root, at)
	}
}

// tellDirectory counts an event, and tells those who follow the children of a directory
// that one of them, at path, has come or left, if that is the event.
func (l *Loop) tellDirectory(t zk.EventType, path string) {
	l.weigh(path)
	if t != zk.EventNodeCreated && t != zk.EventNodeDeleted || path == "/" {
		return
	}
	dir, name := zkpath.Split(path)
	in := input{kind: came, coming: coming{name, t == zk.EventNodeDeleted}}
	l.at(key{dir, event.Children, false}, in)
	l.at(key{dir, event.Children, true}, in)
}

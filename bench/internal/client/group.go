package client

import (
	"fmt"
	"strconv"

	"github.com/go-zookeeper/zk"
)

// A changer makes the changes that others follow.
type changer interface {
	// join makes the member at path, which goes with the session.
	join(path string) error
	put(path string, data []byte) error
	remove(path string) error
	close()
}

// changer returns one for the peer's server.
func (p *process) changer() changer {
	if p.Peer == "etcd" {
		return p.dial().(changer)
	}
	return p.plain() // for all alike
}

// makeDir makes the directory dir, where there are such.
func (p *process) makeDir(dir string) {
	if p.Peer == "etcd" {
		return
	}
	c := p.plain()
	defer c.close()
	check(c.directory(dir))
}

// address is what a member says of itself.
const address = "10.0.0.1:8080"

func (c conn) join(path string) error {
	_, err := c.Create(path, []byte(address), zk.FlagEphemeral, acl)
	return err
}

func (c conn) remove(path string) error { return c.Delete(path, -1) }

// group: some clients follow a group of N, which one more joins and leaves in turn.
func group(p *process) {
	writer := p.changer()
	dir := p.path("group")
	member := func(i int) string { return fmt.Sprintf("%s/member%06d", dir, i) }
	join := func(i int) { check(writer.join(member(i))) }
	p.makeDir(dir)
	each(p.N, join)
	all := newAudience(p.Watchers)
	for _, s := range p.sessions(p.Watchers) {
		change := 0
		s.(groupFollower).followGroup(dir, func(members int) {
			if members == p.N+change%2 {
				all.heard(change)
				change++
			}
		})
	}
	all.wait(0)
	p.changes("change", all, func(i int) {
		if i%2 == 1 {
			join(p.N)
		} else {
			check(writer.remove(member(p.N)))
		}
	})
	writer.close()
	p.perWatcher()
}

// tree: some clients follow a tree of N settings, of which one changes.
func tree(p *process) {
	writer := p.changer()
	dir := p.path("tree")
	setting := func(i int) string { return fmt.Sprintf("setting%06d", i) }
	p.makeDir(dir)
	each(p.N, func(i int) { check(writer.put(dir+"/"+setting(i), []byte("0"))) })
	all := newAudience(p.Watchers)
	for _, s := range p.sessions(p.Watchers) {
		change := 0
		s.(treeFollower).followTree(dir, setting(0), func(settings int, data string) {
			if settings == p.N && data == strconv.Itoa(change) {
				all.heard(change)
				change++
			}
		})
	}
	all.wait(0)
	p.changes("change", all, func(i int) { check(writer.put(dir+"/"+setting(0), []byte(strconv.Itoa(i)))) })
	p.perWatcher()
}

// perWatcher has what was counted mean one watcher and one change.
func (p *process) perWatcher() {
	p.result["changes"] = p.result["ops"]
	p.result["ops"] *= float64(p.Watchers)
}

package client

import (
	"fmt"
	"strconv"

	"github.com/go-zookeeper/zk"
)

// group: some clients follow a group of N, which one more joins and leaves in turn.
func group(p *process) {
	writer := p.plain()
	dir := p.path("group")
	check(writer.directory(dir))
	member := func(i int) string { return fmt.Sprintf("%s/member%06d", dir, i) }
	join := func(i int) {
		_, err := writer.Create(member(i), []byte("10.0.0.1:8080"), zk.FlagEphemeral, acl)
		check(err)
	}
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
			check(writer.Delete(member(p.N), -1))
		}
	})
	writer.close()
	p.perWatcher()
}

// tree: some clients follow a tree of N settings, of which one changes.
func tree(p *process) {
	writer := p.plain()
	dir := p.path("tree")
	setting := func(i int) string { return fmt.Sprintf("setting%06d", i) }
	check(writer.directory(dir))
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

package client

import (
	"sync"
	"time"
)

// A peer opens sessions with a server by way of one library. The meter, which may be
// nil, sees what passes; etcd's has none.
type peer func(addr string, timeout time.Duration, m *meter) (session, error)

// Peers are the libraries that this process can be a client with.
var Peers = map[string]peer{
	"floor":   dialFloor,
	"zkcoord": dialCoord,
	"zklock":  dialZKLock,
	"etcd":    dialEtcd,
}

// A session is a connection with a session of its own.
type session interface {
	mutex(path string) locker
	// contenders counts those that stand in the queue at path, its holder included.
	contenders(path string) (int, error)
	// put makes data those of the znode at path, which it creates if it is missing.
	put(path string, data []byte) error
	close()
}

// A locker is one contender for one lock.
type locker interface {
	lock() error
	unlock() error
}

// A sharer is a session with a read-write lock.
type sharer interface {
	reader(path string) locker
	writer(path string) locker
}

// An uncontender is a session with a cheaper lock where nobody else contends.
type uncontender interface {
	uncontended(path string) locker
}

// A crowd is a session in which many can contend for one lock.
type crowd interface {
	// enter adds a contender, which lets go as soon as it holds the lock.
	enter(path string)
	// drain has those that have entered take their turns. Its result waits for them.
	drain() (wait func())
	// lost counts those that have lost their place.
	lost() int
}

// A follower is a session that can follow znodes.
type follower interface {
	// follow calls got with the data of the znode at path, and again with each
	// newer state that it learns of.
	follow(path string, got func(data []byte))
}

// A settingsFollower is a follower with a way of its own to follow a setting.
type settingsFollower interface {
	followSetting(path string, got func(data []byte))
}

// A groupFollower is a session that can follow who is in a group.
type groupFollower interface {
	// followGroup calls got with the number of members, and again when it changes.
	followGroup(dir string, got func(members int))
}

// A treeFollower is a session that can follow all the settings in a tree.
type treeFollower interface {
	// followTree calls got with the number of settings and the value of one, and
	// again when something changes.
	followTree(dir, key string, got func(settings int, data string))
}

// at most so many sessions are opened or closed at a time.
const opening = 32

func each(n int, f func(i int)) {
	slots := make(chan struct{}, opening)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			f(i)
			<-slots
		})
	}
	all.Wait()
}

// dial opens one session.
func (p *process) dial() session {
	s, err := p.peer(p.Addr, p.Timeout, nil)
	check(err)
	return s
}

// metered opens one session through a meter.
func (p *process) metered() (session, *meter) {
	m := new(meter)
	s, err := p.peer(p.Addr, p.Timeout, m)
	check(err)
	return s, m
}

// sessions opens n sessions.
func (p *process) sessions(n int) []session {
	all := make([]session, n)
	each(n, func(i int) { all[i] = p.dial() })
	return all
}

func closeAll(all ...session) { each(len(all), func(i int) { all[i].close() }) }

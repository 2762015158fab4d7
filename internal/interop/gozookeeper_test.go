package interop

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

type silent struct{}

func (silent) Printf(string, ...any) {}

// TestGoZookeeper: a mutex and go-zookeeper's Lock exclude each other, and
// everybody has its turn.
func TestGoZookeeper(t *testing.T) {
	x := newContest(t)
	for range 3 {
		x.goZookeeper()
	}
	x.mutexes()
	x.finish()
}

// goZookeeper adds a contender of go-zookeeper.
func (x *contest) goZookeeper() {
	conn, events, err := zk.Connect([]string{x.server}, 40*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		x.Fatal(err)
	}
	c := x.join("go-zookeeper", "Lock")
	x.playing.Go(func() {
		l := zk.NewLock(conn, x.dir, zk.WorldACL(zk.PermAll))
		for again := true; again; {
			if err := l.Lock(); err != nil {
				x.failed("zk.Lock: %v", err)
				return
			}
			x.enter(c, true)
			if _, _, err := conn.Exists("/"); err != nil { // takes a moment
				x.failed("zk.Lock: %v", err)
			}
			again = x.leave(c)
			if err := l.Unlock(); err != nil {
				x.failed("zk.Lock: %v", err)
				return
			}
		}
	})
	go func() {
		<-x.ctx.Done() // a Lock knows no other end
		conn.Close()
		for range events {
		}
	}()
}

package watch_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
	"github.com/zkcoord/zkcoord/internal/watch"
)

// A prompt source answers at once, each time with a newer version.
type prompt struct {
	watch.Conn // nil: what is not answered below is not asked
	version    atomic.Int64
}

func (p *prompt) Read(r *watch.Read) (*watch.Answer, error) { return r.Do(p) }
func (p *prompt) Refused(error) bool                        { return false }
func (p *prompt) Ended(_ string, cause error) error         { return cause }

func (p *prompt) Exists(string) (bool, *zk.Stat, error) {
	return true, &zk.Stat{Czxid: 1, Mzxid: p.version.Load()}, nil
}

func (p *prompt) GetW(string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return []byte("data"), &zk.Stat{Czxid: 1, Mzxid: p.version.Add(1)}, nil, nil
}

// following returns a loop, and streams that follow so many znodes and have their first
// value.
func following(n int) (l *watch.Loop, paths []string, streams []*event.Stream[event.Snapshot]) {
	l = watch.NewLoop(new(prompt))
	l.Resume(true)
	for i := range n {
		path := fmt.Sprintf("/service/settings/%d", i)
		paths = append(paths, path)
		streams = append(streams, l.Watch(bg, path, path, event.Data))
	}
	for _, s := range streams {
		<-s.Updates()
	}
	return l, paths, streams
}

func closeLoop(l *watch.Loop) {
	l.Close(errors.New("closed"))
	l.Wait()
}

// BenchmarkEvents is an event, the read that it causes, and the delivery of what was
// read: one after the other, and of many znodes at once.
func BenchmarkEvents(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			l, paths, streams := following(n)
			defer closeLoop(l)
			for b.Loop() {
				for _, path := range paths {
					l.Event(zk.Event{Type: zk.EventNodeDataChanged, Path: path})
				}
				for _, s := range streams {
					<-s.Updates()
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkFanout is an event of one znode that so many streams follow.
func BenchmarkFanout(b *testing.B) {
	const n = 10_000
	b.ReportAllocs()
	l := watch.NewLoop(new(prompt))
	defer closeLoop(l)
	l.Resume(true)
	var streams []*event.Stream[event.Snapshot]
	for range n {
		streams = append(streams, l.Watch(bg, "/a", "/a", event.Data))
	}
	for _, s := range streams {
		<-s.Updates()
	}
	for b.Loop() {
		l.Event(zk.Event{Type: zk.EventNodeDataChanged, Path: "/a"})
		for _, s := range streams {
			<-s.Updates()
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "deliveries/s")
}

// BenchmarkSubscribe is 100,000 znodes followed, each until it has its first value, and
// what all that takes of the heap while it lasts.
func BenchmarkSubscribe(b *testing.B) {
	const n = 100_000
	b.ReportAllocs()
	var held uint64
	for b.Loop() {
		b.StopTimer()
		before := heap()
		b.StartTimer()
		l, _, streams := following(n)
		b.StopTimer()
		held = heap() - before
		runtime.KeepAlive(streams)
		closeLoop(l)
		b.StartTimer()
	}
	b.ReportMetric(float64(held)/n, "B/znode")
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "znodes/s")
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

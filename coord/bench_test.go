package coord_test

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// BenchmarkGet is a request of a server in this process: made with go-zookeeper as it is;
// with go-zookeeper on a connection that has our tap; and by a Client. The differences
// are the costs of the tap, and of what obeys a context. The server's own are in each.
func BenchmarkGet(b *testing.B) {
	const server = "10.0.0.1:2181" // but in memory
	s, err := coordtest.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c, err := coord.Dial(b.Context(), []string{server}, &coord.Options{Dial: s.Dial})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	bare, events, err := zk.Connect([]string{server}, 10*time.Second, zk.WithLogInfo(false),
		zk.WithDialer(func(network, addr string, _ time.Duration) (net.Conn, error) {
			return s.Dial(context.Background(), network, addr)
		}))
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		bare.Close()
		for range events {
		}
	}()
	if _, err := c.Create(b.Context(), "/a", []byte("data"), coord.Persistent); err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name string
		get  func() error
	}{
		{"go-zookeeper", func() error { _, _, err := bare.Get("/a"); return err }},
		{"tapped", func() error { _, _, err := c.Conn().Get("/a"); return err }},
		{"client", func() error { _, _, err := c.Get(b.Context(), "/a"); return err }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := way.get(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGetTCP is a request of a server in this process on a TCP connection, made by one
// goroutine, and by 16: on TCP a request is written by the goroutine that makes it.
func BenchmarkGetTCP(b *testing.B) {
	s, err := coordtest.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c, err := coord.Dial(b.Context(), []string{s.Addr()}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	get := func() {
		if _, _, err := c.Get(b.Context(), "/"); err != nil {
			b.Error(err)
		}
	}
	b.Run("1", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			get()
		}
	})
	b.Run("16", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism((16 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				get()
			}
		})
	})
}

// BenchmarkSession is what a session that does nothing costs the process. In it are 3 MiB of
// heap for the buffers of go-zookeeper, most of which is never touched, and what the server
// in this process needs.
func BenchmarkSession(b *testing.B) {
	s, err := coordtest.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const n = 100
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		var all []*coord.Client
		for range n {
			c, err := coord.Dial(b.Context(), []string{s.Addr()}, nil)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, c)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/session")
		b.ReportMetric(float64(int(after.StackInuse)-int(before.StackInuse))/n, "stack-B/session")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/n, "goroutines/session")
		for _, c := range all {
			_ = c.Close()
		}
	}
}

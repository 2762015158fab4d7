package coord_test

import (
	"context"
	"net"
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

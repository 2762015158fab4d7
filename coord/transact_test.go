package coord_test

import (
	"context"
	"encoding/binary"
	"net"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A mint replaces the code of each refused op in what it reads by another.
type mint struct {
	net.Conn
	code int32
}

func (m mint) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	var noNode [4]byte
	binary.BigEndian.PutUint32(noNode[:], 0xffffff9b) // -101
	for i := 20; i+4 <= n; i++ {                      // behind the header
		if string(b[i:i+4]) == string(noNode[:]) {
			binary.BigEndian.PutUint32(b[i:], uint32(m.code))
		}
	}
	return n, err
}

// A transaction of which the ensemble says op by op that it failed was not carried
// out, whatever the code, such as -125 for an exceeded quota, which go-zookeeper
// has no name for; so it is not repeated.
func TestTransactRefused(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := l.Dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return mint{conn, -125}, nil
		}})
		must(t, err)
		w.Cleanup(func() { c.Close() })
		tries := 0
		l.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "multi" && f.Dir == coordtest.ToServer {
				tries++
			}
			return coordtest.Pass
		})
		_, err = coord.Retry(bg, c.Session(), func(conn *zk.Conn) ([]zk.MultiResponse, error) {
			return coord.Transact(conn, &zk.CheckVersionRequest{Path: "/none", Version: -1}, &zk.DeleteRequest{Path: "/none", Version: -1})
		})
		if !coord.Refused(err) || tries != 1 {
			t.Errorf("after %d tries: %v, which is no refusal", tries, err)
		}
	})
}

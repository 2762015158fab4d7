package chaos

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/coord"
)

// A store is what locks protect, outside of ZooKeeper: it takes a write if no later
// holder has written before, which it knows by the token. It lives in the process of the
// nemesis, and listens on a unix socket.
type store struct {
	listener net.Listener
	conns    sync.WaitGroup

	mu    sync.Mutex
	cells map[string]cell
}

// A cell is what was last written to a path.
type cell struct {
	Token coord.Token
	By    string
	At    time.Time
}

// A write is what a client sends to the store. The answer is whether it was taken.
type write struct {
	Path  string
	Token coord.Token
	By    string
}

func newStore(socket string) (*store, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	s := &store{listener: l, cells: make(map[string]cell)}
	s.conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Go(func() { s.serve(conn) })
		}
	})
	return s, nil
}

// close waits for the clients, which must have ended.
func (s *store) close() {
	s.listener.Close()
	s.conns.Wait()
}

func (s *store) serve(conn net.Conn) {
	defer conn.Close()
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	for {
		var w write
		if in.Decode(&w) != nil || out.Encode(s.take(w, time.Now())) != nil {
			return
		}
	}
}

// take takes a write, or refuses it because its token is stale.
func (s *store) take(w write, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.Token < s.cells[w.Path].Token {
		return false
	}
	s.cells[w.Path] = cell{w.Token, w.By, now}
	return true
}

// latest returns what was last written to path.
func (s *store) latest(path string) cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cells[path]
}

// A storeClient is an actor's way to the store.
type storeClient struct {
	conn net.Conn
	in   *json.Decoder
	out  *json.Encoder
}

func dialStore(socket string) (*storeClient, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	return &storeClient{conn, json.NewDecoder(conn), json.NewEncoder(conn)}, nil
}

func (c *storeClient) close() { c.conn.Close() }

// write writes, and reports whether the store has taken it. Should the store be gone,
// the run is over.
func (c *storeClient) write(w write) bool {
	var taken bool
	if err := c.out.Encode(w); err != nil {
		panic(fmt.Sprint("the store: ", err))
	}
	if err := c.in.Decode(&taken); err != nil {
		panic(fmt.Sprint("the store: ", err))
	}
	return taken
}

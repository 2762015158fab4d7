package server

import (
	"net"
	"sync"
	"time"
)

// A Delay is a way to a server that takes a while.
type Delay struct {
	Addr     string // where to connect to
	listener net.Listener
	conns    sync.WaitGroup
}

// NewDelay opens a way to the address on which each direction takes the time d.
func NewDelay(to string, d time.Duration) (*Delay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Delay{Addr: l.Addr().String(), listener: l}
	w.conns.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			w.conns.Go(func() { carry(server, client, d) })
			w.conns.Go(func() { carry(client, server, d) })
		}
	})
	return w, nil
}

// Close closes the way, and waits until those that use it have closed theirs.
func (w *Delay) Close() {
	_ = w.listener.Close()
	w.conns.Wait()
}

// A parcel is to be delivered when it is due.
type parcel struct {
	due  time.Time
	data []byte
}

// carry carries from src to dst until one of them is closed, and then closes dst.
func carry(dst, src net.Conn, d time.Duration) {
	line := make(chan parcel, 4096)
	var delivering sync.WaitGroup
	delivering.Go(func() {
		for p := range line {
			time.Sleep(time.Until(p.due))
			_, _ = dst.Write(p.data) // of what is not delivered the reader learns
		}
		_ = dst.Close()
	})
	for {
		b := make([]byte, 32<<10)
		n, err := src.Read(b)
		if n > 0 {
			line <- parcel{time.Now().Add(d), b[:n]}
		}
		if err != nil {
			break
		}
	}
	close(line)
	delivering.Wait()
}

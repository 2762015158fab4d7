package harness

import (
	"bytes"
	"io"
	"net"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// A keyReader sees the key of the session that the server gives out, in the first
// frame.
type keyReader struct {
	net.Conn
	c    *Client
	head []byte // nil once the key is known
}

const maxHead = 1 << 10 // more than the first frame has

func (k *keyReader) Read(b []byte) (int, error) {
	n, err := k.Conn.Read(b)
	if k.head == nil {
		return n, err
	}
	k.head = append(k.head, b[:n]...)
	if body, err := jute.ReadFrame(bytes.NewReader(k.head), maxHead); err == nil {
		k.head = nil
		k.c.mu.Lock()
		k.c.key = jute.NewDecoder(body).ConnectResponse()
		k.c.mu.Unlock()
	}
	return n, err
}

// Expire ends the session of c behind its back.
func (w *World) Expire(c *Client) {
	w.Helper()
	if w.Fake != nil {
		w.Fake.Expire(c.Session().ID())
		return
	}
	w.Must(c.ExpireAt(w.Real.Node(0).Addr()))
}

// ExpireAt ends the session of c by way of the server at addr, as whoever has the
// session's key can: it resumes and closes it, before c, on which that server hangs up,
// can take it back. It may fail while servers come and go.
func (c *Client) ExpireAt(addr string) error {
	heal := c.Link.Cut()
	defer heal()
	c.mu.Lock()
	key := c.key
	c.mu.Unlock()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	hello := jute.NewFrame()
	hello.ConnectRequest(jute.ConnectRequest{Timeout: key.Timeout, Session: key.Session, Password: key.Password})
	if _, err := conn.Write(append(hello.Frame(), jute.NewRequest(1, jute.OpClose).Frame()...)); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn) // until the server hangs up, having done it
	return err
}

package harness

import (
	"io"
	"net"
	"time"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// Expire ends the session of c behind its back.
func (w *World) Expire(c *Client) {
	w.Helper()
	if w.Fake != nil {
		w.Fake.Expire(c.Kit().Session().ID())
		return
	}
	w.Must(c.ExpireAt(w.Real.Node(0).Addr()))
}

// ExpireAt ends the session of c by way of the server at addr, as anybody can that has
// the session's key: it resumes and closes it, before c, on which that server hangs up,
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

package harness

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"time"
)

// A keyReader sees the key of the session that the server gives out.
type keyReader struct {
	net.Conn
	c    *Client
	head []byte
}

const headSize = 4 + 4 + 4 + 8 + 4 + 16 // length, version, timeout, session, password with its length

func (k *keyReader) Read(b []byte) (int, error) {
	n, err := k.Conn.Read(b)
	if len(k.head) < headSize {
		if k.head = append(k.head, b[:n]...); len(k.head) >= headSize {
			k.c.mu.Lock()
			k.c.key = k.head[12:headSize]
			k.c.mu.Unlock()
		}
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
	key := slices.Clone(c.key)
	c.mu.Unlock()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint32(nil, 44)
	b = append(b, make([]byte, 4+8)...)
	b = binary.BigEndian.AppendUint32(b, 4000)
	b = append(b, key...)
	b = append(b, 0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5) // xid 1, closeSession
	if _, err := conn.Write(b); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn) // until the server hangs up, having done it
	return err
}

package coord

import "net"

// A direct writes to a TCP connection what that takes at once. A request is written in this
// way on the goroutine that makes it, unless another is being written: to start a goroutine
// for it costs more than the write. What is to be written meanwhile goes out in one piece,
// by flush. It is owned by who holds the token of tappedConn.writing.
type direct struct {
	raw interface {
		Write(f func(fd uintptr) bool) error
	}
	try func(fd uintptr) bool // made once: it writes b
	b   []byte
	n   int // how much of b has been written
	err error
}

// newDirect returns nil if a write to conn may block: with TLS, or if it is the program's.
func newDirect(conn net.Conn) *direct {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || writeNow == nil {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{raw: raw}
	d.try = func(fd uintptr) bool {
		d.n, d.err = writeNow(fd, d.b)
		return true // otherwise it would be called again, when the connection takes more
	}
	return d
}

// write returns how much of b it has written. It does not block.
func (d *direct) write(b []byte) (int, error) {
	d.b, d.n, d.err = b, 0, nil
	if err := d.raw.Write(d.try); err != nil {
		return 0, err
	}
	return d.n, d.err
}

// claim returns what the caller has to write, by writeDirect, after it has released c.mu;
// nil if there is nothing to write, or a goroutine will do it.
func (t *tappedConn) claim() []byte {
	if t.direct != nil && !t.busy && len(t.out) > 0 && len(t.out[0].frame) <= maxBatch {
		select {
		case t.writing <- struct{}{}:
			t.busy = true
			t.s.c.sessions.Add(1)
			return t.batch()
		default: // go-zookeeper is writing
		}
	}
	t.startWriter()
	return nil
}

// writeDirect writes b, which claim has returned. What the connection does not take at
// once, and what has come meanwhile, is left to a goroutine.
func (t *tappedConn) writeDirect(b []byte) {
	n, err := t.direct.write(b)
	if err == nil && n < len(b) {
		go func() {
			defer t.s.c.sessions.Done()
			err := t.write(b[n:])
			<-t.writing
			if err != nil {
				t.abort()
				return
			}
			t.flush()
		}()
		return
	}
	<-t.writing
	if err != nil {
		t.abort()
		t.s.c.sessions.Done()
		return
	}
	t.s.c.mu.Lock()
	defer t.s.c.mu.Unlock()
	t.busy = false
	t.startWriter()
	t.s.c.sessions.Done()
}

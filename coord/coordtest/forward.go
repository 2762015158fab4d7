package coordtest

import (
	"net"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// maxForwarded bounds a frame on a Link, in bytes. Replies may be longer than
// what a server accepts as a request.
const maxForwarded = 256 << 20

// A wire is one connection over a Link. The link's mutex guards its fields.
type wire struct {
	link  *Link
	conns [2]net.Conn // by index of direction: where its frames go
	held  [2][][]byte // frames that have come and not yet gone
	ended [2]bool     // no more will come: the sender has hung up
	last  bool        // a frame is on its way after which the wire dies; nothing else goes
	dead  bool        // both conns are closed

	script script
}

func index(d Direction) int { return int(d - 1) }

// read takes frames of direction d off the sender's connection until that
// ends. It never makes the sender wait.
func (w *wire) read(d Direction) {
	i := index(d)
	for more := true; more; {
		frame, err := jute.ReadFrame(w.conns[1-i], maxForwarded)
		w.link.mu.Lock()
		if more = err == nil; more {
			w.held[i] = append(w.held[i], frame)
		} else {
			w.ended[i] = true
			w.abandon()
		}
		w.link.change.Broadcast()
		w.link.mu.Unlock()
	}
}

// abandon loses what is held back from the server if the client has hung up.
func (w *wire) abandon() {
	if up := index(ToServer); w.ended[up] && w.link.stalls[up] > 0 {
		w.held[up] = nil
	}
}

// forward passes frames of direction d on, and then the sender's hang-up.
func (w *wire) forward(d Direction) {
	i, l := index(d), w.link
	l.mu.Lock()
	defer l.mu.Unlock()
	defer w.hangUp()
	for {
		for !w.dead && w.waits(i) {
			l.change.Wait()
		}
		if w.dead || len(w.held[i]) == 0 {
			return
		}
		frame := w.held[i][0]
		act := w.judge(d, frame)
		for !w.dead && w.blocked(i) { // the hook's doing, perhaps
			l.change.Wait()
		}
		if w.dead {
			return
		}
		if len(w.held[i]) == 0 {
			continue // abandoned
		}
		w.held[i] = w.held[i][1:]
		switch act {
		case Drop:
			continue
		case HangUp:
			return
		case PassAndHangUp:
			w.last = true // before the peer can answer
		}
		l.mu.Unlock()
		// If the receiver is gone, this is lost, but not what it sent before:
		// the other direction ends when that has been delivered.
		w.conns[i].Write(jute.Frame(frame))
		l.mu.Lock()
		if act == PassAndHangUp {
			return
		}
	}
}

// blocked reports whether nothing may go in direction i now.
func (w *wire) blocked(i int) bool { return w.last || w.link.stalls[i] > 0 }

// waits reports whether there is nothing to be done in direction i now: nothing may go, or
// there is nothing, or the hook is not free to be asked about it.
func (w *wire) waits(i int) bool {
	if len(w.held[i]) == 0 {
		return w.blocked(i) || !w.ended[i]
	}
	return w.blocked(i) || w.link.hooking
}

// judge asks the hook, which must not be running, about a frame. It gives up the link's
// mutex meanwhile.
func (w *wire) judge(d Direction, frame []byte) Action {
	l := w.link
	f := w.script.describe(d, frame)
	if f.Op != "ping" {
		l.n[index(d)]++
		f.N = l.n[index(d)]
	}
	act := Pass
	if hook := l.hook; hook != nil {
		l.hooking = true
		l.mu.Unlock()
		act = hook(f)
		l.mu.Lock()
		l.hooking = false
		l.change.Broadcast()
	}
	if d == ToServer && (act == Pass || act == PassAndHangUp) {
		w.script.expect(f, frame)
	}
	return act
}

// hangUp closes both ends. What is held is lost.
func (w *wire) hangUp() {
	if w.dead {
		return
	}
	w.dead = true
	w.held = [2][][]byte{}
	delete(w.link.wires, w)
	for _, c := range w.conns {
		c.Close()
	}
	w.link.change.Broadcast()
}

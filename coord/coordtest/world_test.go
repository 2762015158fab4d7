package coordtest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// A world is a server, real or not, in which a script runs. What the script
// sees goes to a transcript in which nothing depends on the time, the sessions'
// ids or what happened on the server before.
type world struct {
	t     *testing.T
	link  *coordtest.Link
	root  string // a fresh znode that is the script's own
	zxid0 int64  // its czxid
	names map[int64]string
	log   strings.Builder
}

func newWorld(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error), root string) *world {
	w := &world{t: t, link: coordtest.NewLink(dial), root: root, names: make(map[int64]string)}
	t.Cleanup(w.link.Close)
	p := w.connect("", 10*time.Second)
	must(t, p.create(root, nil, 0))
	_, stat, err := p.Exists(root)
	must(t, err)
	w.zxid0 = stat.Czxid
	p.Close()
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) printf(format string, args ...any) { fmt.Fprintf(&w.log, format+"\n", args...) }

// zxid tells a zxid as a distance from the script's beginning, or from that of a later
// epoch.
func (w *world) zxid(z int64) string {
	if z <= 0 {
		return fmt.Sprint(z)
	}
	if later := z>>32 - w.zxid0>>32; later > 0 {
		return fmt.Sprintf("%+d epoch %+d", later, z&math.MaxUint32)
	}
	return fmt.Sprintf("%+d", z-w.zxid0)
}

func (w *world) stat(s *zk.Stat) string {
	if s == nil {
		return "-"
	}
	owner := fmt.Sprint(s.EphemeralOwner)
	if name, found := w.names[s.EphemeralOwner]; found {
		owner = name
	}
	return fmt.Sprintf("c%s m%s p%s v%d cv%d av%d owner=%s len=%d children=%d",
		w.zxid(s.Czxid), w.zxid(s.Mzxid), w.zxid(s.Pzxid), s.Version, s.Cversion, s.Aversion, owner, s.DataLength, s.NumChildren)
}

// A peer is one go-zookeeper client.
type peer struct {
	*zk.Conn
	w    *world
	name string

	mu     sync.Mutex
	events []string
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// oneHost is a HostProvider without DNS, which a bubble cannot have. It asks
// for a pause before each attempt but the first, without which a bubble's time
// would stand still while dials fail.
type oneHost struct{ tried bool }

func (*oneHost) Init([]string) error { return nil }
func (*oneHost) Len() int            { return 1 }
func (h *oneHost) Connected()        { h.tried = false }

func (h *oneHost) Next() (addr string, pause bool) {
	pause, h.tried = h.tried, true
	return "server:1", pause
}

func dialer(l *coordtest.Link) zk.Dialer {
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		return l.Dial(ctx, network, addr)
	}
}

func (w *world) connect(name string, timeout time.Duration) *peer {
	w.t.Helper()
	p := &peer{w: w, name: name}
	session := make(chan struct{}, 100)
	conn, _, err := zk.Connect([]string{"server:1"}, timeout, zk.WithDialer(dialer(w.link)), zk.WithHostProvider(new(oneHost)),
		zk.WithLogger(silent{}), zk.WithEventCallback(func(ev zk.Event) {
			if ev.State == zk.StateHasSession {
				session <- struct{}{}
			}
			if ev.Type != zk.EventSession && ev.Type != zk.EventNotWatching {
				p.mu.Lock()
				p.events = append(p.events, fmt.Sprintf("%s %s", strings.TrimPrefix(ev.Type.String(), "EventNode"), ev.Path))
				p.mu.Unlock()
			}
		}))
	must(w.t, err)
	w.t.Cleanup(conn.Close)
	p.Conn = conn
	<-session
	w.names[conn.SessionID()] = name
	return p
}

var open = zk.WorldACL(zk.PermAll)

// create makes a node and reports the outcome only.
func (p *peer) create(path string, data []byte, flags int32) error {
	_, err := p.Conn.Create(path, data, flags, open)
	return err
}

// saw logs the events so far. They precede the reply of any later request.
func (p *peer) saw(what string) {
	p.w.t.Helper()
	_, _, err := p.Exists("/")
	must(p.w.t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.w.printf("%s: %s saw %q", what, p.name, p.events)
	p.events = nil
}

// sawSorted is for events whose order the real server leaves open.
func (p *peer) sawSorted(what string) {
	p.w.t.Helper()
	_, _, err := p.Exists("/")
	must(p.w.t, err)
	p.mu.Lock()
	slices.Sort(p.events)
	p.mu.Unlock()
	p.saw(what)
}

// look logs a node's Stat and data.
func (p *peer) look(path string) {
	data, stat, err := p.Get(path)
	if err != nil {
		p.w.printf("get %s: %v", path, err)
		return
	}
	p.w.printf("get %s: %q nil=%v %s", path, data, data == nil, p.w.stat(stat))
}

func (p *peer) list(path string) {
	names, stat, err := p.Children(path)
	slices.Sort(names)
	if err != nil {
		p.w.printf("children %s: %v", path, err)
		return
	}
	p.w.printf("children %s: %q %s", path, names, p.w.stat(stat))
}

// A raw is a connection that speaks the protocol by hand.
type raw struct {
	net.Conn
	w *world
}

func (w *world) raw() *raw {
	w.t.Helper()
	c, err := w.link.Dial(w.t.Context(), "tcp", "")
	must(w.t, err)
	c.SetDeadline(time.Now().Add(20 * time.Second))
	r := &raw{c, w}
	w.t.Cleanup(func() { // the session's end would count as a transaction in a later script
		r.send(int32(0), jute.OpClose)
		for {
			if _, err := r.receive(); err != nil {
				break
			}
		}
		r.Close()
	})
	return r
}

// handshake opens a session, or resumes one, and returns its id and password.
func (r *raw) handshake(zxid int64, timeout int32, session int64, password []byte, more ...any) (int64, []byte) {
	r.send(append([]any{int32(0), zxid, timeout, session, password}, more...)...)
	return r.welcomed()
}

// welcomed waits for the answer to a handshake.
func (r *raw) welcomed() (id int64, password []byte) {
	b, err := r.receive()
	if err != nil {
		r.w.printf("connect: %v", err)
		return 0, nil
	}
	c := jute.NewDecoder(b).ConnectResponse()
	r.w.printf("connect: protocol %d, timeout %d, session %v, password of %d, then %x",
		c.Version, c.Timeout.Milliseconds(), c.Session != 0, len(c.Password), c.Rest)
	return c.Session, c.Password
}

// pack returns a frame of these fields.
func pack(fields ...any) []byte {
	e := jute.NewFrame()
	for _, f := range fields {
		switch f := f.(type) {
		case int32:
			e.Int32(f)
		case jute.Op:
			e.Int32(int32(f))
		case int64:
			e.Int64(f)
		case string:
			e.String(f)
		case []byte:
			e.String(string(f))
		case bool:
			e.Bool(f)
		default:
			panic(fmt.Sprintf("%T", f))
		}
	}
	return e.Frame()
}

func (r *raw) send(fields ...any) { r.Write(pack(fields...)) }

func (r *raw) receive() ([]byte, error) {
	b, err := jute.ReadFrame(r, math.MaxInt32)
	return b, plain(err)
}

// plain hides how exactly a connection ended.
func plain(err error) error {
	var timeout interface{ Timeout() bool }
	if err != nil && !(errors.As(err, &timeout) && timeout.Timeout()) {
		return errors.New("hung up")
	}
	return err
}

// ask sends a request and logs the events that come and the reply: its header
// and the length of the rest.
func (r *raw) ask(what string, fields ...any) {
	r.send(fields...)
	r.expect(what)
}

func (r *raw) expect(what string) {
	b, err := r.receive()
	if err != nil {
		r.w.printf("%s: %v", what, err)
		return
	}
	if len(b) < 16 {
		r.w.printf("%s: only %x", what, b)
		return
	}
	d := jute.NewDecoder(b)
	h := d.ReplyHeader()
	if h.Xid == jute.XidEvent {
		v := d.Event()
		r.w.printf("event: zxid %d, error %d, type %d, state %d, %s", h.Zxid, h.Code, v.Type, v.State, v.Path)
		r.expect(what)
		return
	}
	r.w.printf("%s: xid %d, zxid %s, error %d, and %d bytes", what, h.Xid, r.w.zxid(h.Zxid), h.Code, len(d.Rest()))
}

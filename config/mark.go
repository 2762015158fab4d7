package config

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// A mark is the evidence of what became of a transaction: a znode that
// the transaction writes to as well, on condition of its version. Whoever makes
// the version another, and be it in another session, sees to it that the
// transaction is not carried out any more if it has not been, and sees which of
// the two is the case. Were there only the value to look at, somebody could have
// stored the same one, or another over it.
//
// It is a container with one ephemeral child: the ensemble removes it, but only
// some time after the end of the session, commonly up to a minute. An ephemeral
// mark would go when it is needed most.
type mark struct {
	s       *coord.Session // in which it was made
	path    string         // full; nobody else ever has this name
	version int32
	known   bool // version is the present one, and no transaction under way can change it
}

const (
	marksDir = "/_zkcoord"  // below the chroot; the name is part of what the package promises
	markName = "config-"    // and then random text
	fenced   = "superseded" // the data of a mark whose last transaction can not happen any more

	// maxMarks bounds the transactions of a client that are under way, and so its
	// marks. More would only wait for one another, for a session has no more
	// requests under way.
	maxMarks = 8
	// maxMakes bounds how often a missing directory is made for one mark.
	maxMakes = 8
)

// marks are those of one client, shared by all transactions of it.
type marks struct {
	c     *coord.Client
	slots chan struct{} // one token for each transaction under way

	makers chan struct{} // one token for each mark that is being made

	mu      sync.Mutex
	s       *coord.Session // whose marks these are
	free    []*mark
	without bool // the ensemble does not let us have any
}

type marksKey struct{}

func marksOf(c *coord.Client) *marks {
	p, ok := c.Local().Load(marksKey{})
	if !ok {
		p, _ = c.Local().LoadOrStore(marksKey{}, &marks{c: c, slots: make(chan struct{}, maxMarks), makers: make(chan struct{}, maxMarks)})
	}
	return p.(*marks)
}

// newMark returns a mark of session s that is not there yet.
func (p *marks) newMark(s *coord.Session) *mark {
	return &mark{s: s, path: p.c.FullPath(marksDir + "/" + markName + rand.Text())}
}

// pick returns a mark of session s that is free, nil if there is none, and
// whether there may be one at all.
func (p *marks) pick(s *coord.Session) (m *mark, may bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.s != s && s.Err() == nil { // else s is the older one
		p.s, p.free, p.without = s, nil, false
	}
	if p.s != s || len(p.free) == 0 {
		return nil, p.s != s || !p.without
	}
	m = p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return m, true
}

// give returns a mark that was taken.
func (p *marks) give(m *mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m != nil && p.s == m.s && m.version != -1 { // which would mean any version
		p.free = append(p.free, m)
	}
}

// renounce notes that session s is not let have marks.
func (p *marks) renounce(s *coord.Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.s == s {
		p.without, p.free = true, nil
	}
}

// take returns a mark of session s whose version is known, made if need be; nil
// if the ensemble does not let us have any.
func (p *marks) take(ctx context.Context, s *coord.Session) (*mark, error) {
	for {
		m, may := p.pick(s)
		switch {
		case !may:
			return nil, nil
		case m == nil:
			select {
			case p.makers <- struct{}{}:
			case <-ctx.Done():
				return nil, coord.GivenUp(ctx)
			}
			select {
			case err := <-p.make(s):
				if err != nil {
					return nil, reason(ctx, s, err)
				}
			case <-ctx.Done():
				return nil, coord.GivenUp(ctx)
			}
			continue
		case m.known:
			return m, nil
		}
		// A transaction may be under way whose caller has left. This write makes
		// the version another, and known. It is bound to the version, too, because it
		// could itself be under way when its caller has left, and come late.
		n, err := fetch(ctx, s, m.path, false)
		var stat *zk.Stat
		if err == nil && n.stat != nil && n.stat.Version != -1 {
			stat, err = coord.Retry(ctx, s, func(conn *zk.Conn) (*zk.Stat, error) {
				return conn.Set(m.path, []byte(fenced), n.stat.Version)
			})
			err = reason(ctx, s, err)
		}
		switch {
		case err == nil && stat != nil:
			m.version, m.known = stat.Version, true
			p.give(m)
		case err == nil, errors.Is(err, zk.ErrNoNode): // it is gone, or worn out
		case errors.Is(err, zk.ErrBadVersion):
			p.give(m)
		case !coord.Refused(err):
			p.give(m)
			return nil, err
		default:
			p.renounce(s)
		}
	}
}

// make has a new mark of session s made, or seen to that none is to be had. It is
// seen through to its end, whoever waits: a container that has never had a child
// is not removed by the ensemble. That end comes within a session timeout. The
// caller has put a token into p.makers.
func (p *marks) make(s *coord.Session) <-chan error {
	done := make(chan error, 1) // so that the goroutine ends though nobody waits
	m := p.newMark(s)
	ok := p.c.Go(func(life context.Context) {
		defer func() { <-p.makers }()
		ctx, stop := context.WithTimeout(life, s.Timeout())
		defer stop()
		err := p.create(ctx, m)
		made := err == nil
		switch {
		case made:
			p.give(m)
		case coord.Refused(err) || s.Err() == nil && life.Err() == nil:
			// The ensemble says no, or nothing that can be understood.
			p.renounce(s)
			err = nil
		}
		done <- err
		if !made {
			_, _ = coord.Read(life, p.c, func(conn *zk.Conn) (struct{}, error) { return struct{}{}, conn.Delete(m.path, -1) })
		}
	})
	if !ok {
		<-p.makers
		done <- coord.ErrClosed
	}
	return done
}

// create creates m, and the directory if that is missing.
func (p *marks) create(ctx context.Context, m *mark) error {
	if err := coord.CheckSize(&zk.CreateRequest{Path: m.path + "/session", Acl: p.c.ACL()}); err != nil {
		return err
	}
	for makes := 0; ; makes++ {
		_, err := coord.Retry(ctx, m.s, func(conn *zk.Conn) (string, error) {
			return conn.CreateContainer(m.path, []byte{}, zk.FlagContainer, p.c.ACL())
		})
		child := m.path + "/session"
		switch {
		case errors.Is(err, zk.ErrNodeExists): // by a try whose answer was lost
			err = nil
		case coord.Refused(err) && !errors.Is(err, zk.ErrNoNode):
			child, err = m.path, nil // perhaps the server has no containers
		}
		if err == nil {
			_, err = coord.Retry(ctx, m.s, func(conn *zk.Conn) (string, error) {
				return conn.Create(child, []byte{}, zk.FlagEphemeral, p.c.ACL())
			})
		}
		switch {
		case err == nil, errors.Is(err, zk.ErrNodeExists):
			m.known = true
			return nil
		case !errors.Is(err, zk.ErrNoNode) || makes == maxMakes:
			return err
		}
		if err := p.makeDir(ctx, m.s); err != nil {
			return err
		}
	}
}

// makeDir creates the directory of the marks. It is a container, but not so the
// client's root, which may be given a value of its own one day.
func (p *marks) makeDir(ctx context.Context, s *coord.Session) error {
	root := p.c.FullPath("/")
	there, err := coord.Retry(ctx, s, func(conn *zk.Conn) (bool, error) {
		there, _, err := conn.Exists(root)
		return there, err
	})
	if err == nil && !there {
		err = makeDir(ctx, p.c, s, root)
	}
	if err == nil {
		err = s.MakeDir(ctx, p.c.FullPath(marksDir))
	}
	return err
}

// A verdict is what is known of a transaction that can not be carried out any
// more, unless it has been.
type verdict uint8

const (
	open    verdict = iota // whether it has been is not known
	carried                // it has been
	dropped                // it has not been
)

// fence sees to it, in session s, that the transaction that was sent with m can
// not be carried out any more unless it has been, and tells what the mark says of
// that. The verdict is open if the mark is gone.
func (m *mark) fence(ctx context.Context, s *coord.Session) (verdict, error) {
	// A write, because the answer to a write is the word of the ensemble, and not
	// of one server that may be behind.
	_, err := coord.Retry(ctx, s, func(conn *zk.Conn) (*zk.Stat, error) {
		return conn.Set(m.path, []byte(fenced), m.version)
	})
	switch err := reason(ctx, s, err); {
	case err == nil:
		return dropped, nil
	case errors.Is(err, zk.ErrNoNode):
		return open, nil
	case !errors.Is(err, zk.ErrBadVersion):
		return open, err
	}
	// Either the transaction was there first, or a try of ours whose answer was
	// lost. The server is up to date: it has just answered a write.
	n, err := fetch(ctx, s, m.path, false)
	switch {
	case err != nil || n.stat == nil:
		return open, err
	case string(n.data) == fenced:
		return dropped, nil
	}
	return carried, nil
}

package config

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/async"
)

// A witness is a znode that a transaction writes to as well, on condition of its
// version, and that shows what became of the transaction if the answer is lost.
// Bumping the version, even from another session, prevents the transaction if it
// has not happened yet, and shows whether it has. The value alone would not:
// somebody could have stored the same one, or another over it.
//
// It is a container with one ephemeral child: the ensemble removes it, but only
// some time after the end of the session, commonly up to a minute. An ephemeral
// witness would go when it is needed most.
type witness struct {
	s       *coord.Session // in which it was made
	path    string         // nobody else ever uses this name
	version int32
	known   bool // version is the present one, and no transaction under way can change it
}

const (
	witnessDir  = "/_zkcoord"  // below the chroot; the name is part of what the package promises
	witnessName = "config-"    // and then random text
	superseded  = "superseded" // the data of a witness whose last transaction has been prevented

	// maxWitnesses bounds the transactions of a client that are under way, and so
	// its witnesses. More would only wait for one another, for a session has no
	// more requests under way.
	maxWitnesses = 8
)

// wrote notes that the transaction w was acquired for has been carried out.
func (w *witness) wrote() {
	if w != nil {
		w.version++
	}
}

// lost notes that the answer to the transaction w was acquired for has been lost.
func (w *witness) lost() {
	if w != nil {
		w.known = false
	}
}

// fence prevents, in session s, the transaction that was sent with w unless it has
// been carried out, and returns which of the two is the case; and the stat of w as
// the transaction has left it. It is undecided if w is gone.
func (w *witness) fence(ctx context.Context, s *coord.Session) (outcome, *coord.Stat, error) {
	// A write, because the answer to a write is the word of the ensemble, and not
	// of one server that may be behind.
	_, err := s.Set(ctx, w.path, []byte(superseded), w.version)
	switch {
	case err == nil:
		return prevented, nil, nil
	case errors.Is(err, coord.ErrNoNode):
		return undecided, nil, nil
	case !errors.Is(err, coord.ErrBadVersion):
		return undecided, nil, err
	}
	// Either the transaction was there first, or a try of ours whose answer was
	// lost. The server is up to date: it has just answered a write.
	n, err := s.Get(ctx, w.path)
	switch {
	case err != nil || !n.Exists:
		return undecided, nil, err
	case string(n.Data) == superseded:
		return prevented, nil, nil
	}
	return carriedOut, &n.Stat, nil
}

// A witnessPool has the witnesses of one client, shared by all its transactions.
type witnessPool struct {
	c      *coord.Client
	slots  chan struct{} // one token for each transaction under way
	makers chan struct{} // one token for each witness that is being made

	mu       sync.Mutex
	s        *coord.Session // whose witnesses these are
	free     []*witness
	disabled bool // the ensemble does not let us have any
}

type poolKey struct{}

func witnessesOf(c *coord.Client) *witnessPool {
	p, ok := c.Kit().Values().Load(poolKey{})
	if !ok {
		p, _ = c.Kit().Values().LoadOrStore(poolKey{}, &witnessPool{c: c,
			slots: make(chan struct{}, maxWitnesses), makers: make(chan struct{}, maxWitnesses)})
	}
	return p.(*witnessPool)
}

// newWitness returns a witness of session s that does not exist yet.
func newWitness(s *coord.Session) *witness {
	return &witness{s: s, path: witnessDir + "/" + witnessName + rand.Text()}
}

// take removes a free witness of session s from p. It returns nil if there is none,
// and whether one may be made.
func (p *witnessPool) take(s *coord.Session) (w *witness, may bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.s != s && s.Err() == nil { // else s is the older one
		p.s, p.free, p.disabled = s, nil, false
	}
	if p.s != s || len(p.free) == 0 {
		return nil, p.s != s || !p.disabled
	}
	w = p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return w, true
}

// put returns a witness that was acquired, or nil.
func (p *witnessPool) put(w *witness) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w != nil && p.s == w.s && w.version != -1 { // which would mean any version
		p.free = append(p.free, w)
	}
}

// disable notes that session s is not allowed to have witnesses.
func (p *witnessPool) disable(s *coord.Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.s == s {
		p.disabled, p.free = true, nil
	}
}

// refused drops the witness w, because a write to it was refused with err: somebody
// has changed or deleted it, or it can be made and not be written to.
func (p *witnessPool) refused(w *witness, err error) {
	if !errors.Is(err, coord.ErrNoNode) && !errors.Is(err, coord.ErrBadVersion) {
		p.disable(w.s)
	}
}

// acquire returns a witness of session s whose version is known, and makes one if
// need be. It returns nil if the ensemble does not let us have any.
func (p *witnessPool) acquire(ctx context.Context, s *coord.Session) (*witness, error) {
	for {
		w, may := p.take(s)
		var err error
		switch {
		case w == nil && !may, w != nil && w.known:
			return w, nil
		case w == nil:
			err = p.grow(ctx, s)
		default:
			err = p.refresh(ctx, w)
		}
		if err != nil {
			return nil, err
		}
	}
}

// refresh makes the version of w known and puts it back, unless it is worn out. A
// transaction may be under way whose caller has left: a write makes the version
// another. It is bound to the version, too, because it could itself be under way
// when its caller has left, and arrive late.
func (p *witnessPool) refresh(ctx context.Context, w *witness) error {
	n, err := w.s.Get(ctx, w.path)
	if err == nil && (!n.Exists || n.Stat.Version == -1) {
		return nil
	}
	var stat coord.Stat
	if err == nil {
		stat, err = w.s.Set(ctx, w.path, []byte(superseded), n.Stat.Version)
	}
	switch {
	case err == nil:
		w.version, w.known = stat.Version, true
		p.put(w)
	case !w.s.Refused(err):
		p.put(w)
		return err
	case errors.Is(err, coord.ErrBadVersion):
		p.put(w)
	default:
		p.refused(w, err)
	}
	return nil
}

// grow adds a new witness of session s, or disables them.
func (p *witnessPool) grow(ctx context.Context, s *coord.Session) error {
	select {
	case p.makers <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx, p.c)
	}
	// The new one is seen through to its end, whether or not anyone waits: a container
	// that has never had a child is not removed by the ensemble.
	made := async.Go(p.c.Kit().Go, func(life context.Context) error {
		defer func() { <-p.makers }()
		return p.make(life, s)
	})
	select {
	case err := <-made:
		return err
	case <-ctx.Done():
		return ended(ctx, p.c)
	case <-s.Done():
		return s.Err()
	}
}

// make creates a witness in session s and puts it into p, or disables them. It takes
// a session timeout at most.
func (p *witnessPool) make(life context.Context, s *coord.Session) error {
	w := newWitness(s)
	ctx, stop := context.WithTimeout(life, s.Timeout())
	defer stop()
	err := w.create(ctx)
	if err == nil {
		p.put(w)
		return nil
	}
	p.c.Kit().Go(func(life context.Context) { // what may have been made of it
		_ = p.c.Kit().Retry(life, func(s *coord.Session) error { return s.Delete(life, w.path, -1) })
	})
	if s.Refused(err) || s.Err() == nil && life.Err() == nil {
		// The ensemble says no, or nothing that can be understood.
		p.disable(s)
		return nil
	}
	return err
}

// create creates w, and the directory if that is missing. That is a container, but
// not so the client's root, which may be given a value of its own one day.
func (w *witness) create(ctx context.Context) error {
	return w.s.InDir(ctx, witnessDir, func() error {
		err := w.tryCreate(ctx)
		if errors.Is(err, coord.ErrNoNode) {
			if err := w.s.CreateAll(ctx, "/"); err != nil {
				return err
			}
		}
		return err
	})
}

func (w *witness) tryCreate(ctx context.Context) error {
	_, err := w.s.Create(ctx, w.path, []byte{}, coord.Container)
	child := w.path + "/session"
	switch {
	case errors.Is(err, coord.ErrNodeExists): // by a try whose answer was lost
		err = nil
	case w.s.Refused(err) && !errors.Is(err, coord.ErrNoNode):
		child, err = w.path, nil // perhaps the server has no containers
	}
	if err == nil {
		_, err = w.s.Create(ctx, child, []byte{}, coord.Ephemeral)
	}
	if errors.Is(err, coord.ErrNodeExists) {
		err = nil
	}
	w.known = err == nil
	return err
}

package chaos

import (
	"fmt"
	"time"
)

// cutLink cuts two servers off from each other, one way or both.
func (t *track) cutLink() error {
	nodes, pick, d := t.ensemble.Nodes(), t.rng.Perm(len(t.ensemble.Nodes())), t.direction()
	a, b := nodes[pick[0]], nodes[pick[1]]
	defer t.fault("cut link", fmt.Sprintf("%s from %s, %v", a.Addr(), b.Addr(), d))()
	heal, err := t.ensemble.Cut(a, d, t.ensemble.Host(b))
	if err != nil {
		return err
	}
	defer heal()
	t.sleep(t.between(t.timeout/2, 2*t.timeout))
	return nil
}

// cutClients cuts a server off from all clients, one way or both.
func (t *track) cutClients() error {
	n, d := t.any(t.rng.IntN(2) == 0), t.direction()
	defer t.fault("cut clients", fmt.Sprintf("%s, %v", n.Addr(), d))()
	heal, err := t.ensemble.Cut(n, d, t.ensemble.ClientNet())
	if err != nil {
		return err
	}
	defer heal()
	t.sleep(t.between(t.timeout/4, 3*t.timeout/2))
	return nil
}

// slow makes what a server sends take long.
func (t *track) slow() error {
	n := t.any(t.rng.IntN(2) == 0)
	heal, how, err := t.ensemble.Slow(n)
	if err != nil {
		t.logf("no slow line: %v", err) // here, and nothing else depends on it
		return nil
	}
	defer heal()
	defer t.fault("slow line", fmt.Sprintf("%s, %s", n.Addr(), how))()
	t.sleep(t.between(t.timeout/2, 3*t.timeout/2))
	return nil
}

// slowDisk lets a server write only a few times a second.
func (t *track) slowDisk() error {
	n := t.any(t.rng.IntN(2) == 0)
	heal, err := t.ensemble.SlowDisk(n)
	if err != nil {
		t.logf("no slow disk: %v", err) // here, and nothing else depends on it
		return nil
	}
	defer heal()
	defer t.fault("slow disk", n.Addr())()
	t.sleep(t.between(t.timeout/2, 3*t.timeout/2))
	return nil
}

// stutter stops a server again and again for a moment, as a busy machine does.
func (t *track) stutter() error {
	n := t.any(t.rng.IntN(2) == 0)
	defer t.fault("stutter", n.Addr())()
	for end := time.Now().Add(t.between(t.timeout/2, 3*t.timeout/2)); time.Now().Before(end) && t.ctx.Err() == nil; {
		n.Freeze()
		time.Sleep(t.between(50*time.Millisecond, 300*time.Millisecond))
		n.Thaw()
		t.sleep(t.between(20*time.Millisecond, 200*time.Millisecond))
	}
	return nil
}

package chaos

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/internal/history"
)

// requestTime bounds a change. It is longer than most faults.
const requestTime = 10 * time.Second

// modify modifies, stores or reads the value.
func (a *actor) modify() bool {
	v := config.New(a.session, valuePath, config.Text())
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	e := a.event(history.Config, valuePath)
	next := fmt.Sprintf("%s %d", a.name, a.op)
	var err error
	var u config.Update[string]
	switch n := a.rng.IntN(10); {
	case n < 7:
		e.F, e.Value = history.Modify, next
		a.note(e, history.Call, nil)
		u, err = v.Modify(ctx, func(was string) (string, error) {
			e.Was = was
			return next, nil
		})
	case n < 8:
		e.F, e.Value = history.Set, next
		a.note(e, history.Call, nil)
		u, err = v.Store(ctx, next)
	default:
		e.F = history.Get
		a.note(e, history.Call, nil)
		u, err = v.Read(ctx)
		e.Value = u.Value
	}
	if err == nil {
		e.Zxid = u.Mzxid
	}
	a.note(e, outcome(err), err)
	return err == nil
}

// count adds to the counter, or reads it.
func (a *actor) count() bool {
	n := config.NewCounter(a.session, counterPath)
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	e := a.event(history.Counter, counterPath)
	var sum int64
	var err error
	if a.rng.IntN(5) > 0 {
		delta := int64(1 + a.rng.IntN(5))
		e.F, e.Value = history.Add, strconv.FormatInt(delta, 10)
		a.note(e, history.Call, nil)
		sum, err = n.Add(ctx, delta)
	} else {
		e.F = history.Sum
		a.note(e, history.Call, nil)
		sum, err = n.Get(ctx)
	}
	if err == nil {
		e.Value = strconv.FormatInt(sum, 10)
	}
	a.note(e, outcome(err), err)
	return err == nil
}

// follow follows the value and the counter.
func (a *actor) follow() {
	value, counter := config.New(a.session, valuePath, config.Text()), config.NewCounter(a.session, counterPath)
	values, sums := value.Watch(a.looking), counter.Watch(a.looking)
	ofValue, ofCounter := a.event(history.Config, valuePath), a.event(history.Counter, counterPath)
	session := a.session.Expired()
	// A session that begins may be that of a server behind.
	anew := func() {
		select {
		case <-session:
			session = a.session.Expired()
			for _, e := range []history.Event{ofValue, ofCounter} {
				e.F = history.Expired
				a.note(e, history.Suspended, nil)
			}
		default:
		}
	}
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case u := <-values.Updates():
			anew()
			if u.Err == nil {
				a.saw(ofValue, u.Value, u.Mzxid, u.Suspended)
			}
		case u := <-sums.Updates():
			anew()
			if u.Err == nil {
				a.saw(ofCounter, strconv.FormatInt(u.Value, 10), u.Mzxid, u.Suspended)
			}
		case <-look.C:
			a.compare(func(ctx context.Context) bool {
				v, err := value.Read(ctx)
				n, err2 := counter.Get(ctx)
				u, ok := values.Latest()
				s, ok2 := sums.Latest()
				return err == nil && err2 == nil && ok && ok2 && !u.Suspended && !s.Suspended && u.Mzxid == v.Mzxid && s.Value == n
			})
		case <-values.Done():
			return
		}
	}
}

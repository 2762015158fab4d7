package config_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// Without witnesses a transaction whose answer is lost is not repeated on the ground
// that a key it creates is not there: another may have removed that since, and what
// others have stored is not overwritten. The outcome is unknown. (R60.)
func TestWithoutWitnessesNothingIsRepeated(t *testing.T) {
	for _, x := range []struct {
		name   string
		meddle func(w *world) // when the answer is lost
		want   [2]string
	}{
		{"the created key is removed", func(w *world) { w.Delete("/p/a") }, [2]string{"nothing", "1"}},
		{"and the other one changed", func(w *world) { w.Delete("/p/a"); w.Set("/p/b", "9") }, [2]string{"nothing", "9"}},
		{"and removed", func(w *world) { w.Delete("/p/a"); w.Delete("/p/b") }, [2]string{"nothing", "nothing"}},
		{"and made anew", func(w *world) { w.Delete("/p/a"); w.Create("/p/a", "9"); w.Set("/p/b", "9") }, [2]string{"9", "9"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.Create("/p", "")
				w.Create("/p/b", "0")
				_, err := w.op.SetACL("/", zk.WorldACL(zk.PermRead), -1)
				w.Must(err)
				multis := 0
				w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
					if f.Op == "multi" && f.Dir == coordtest.ToServer {
						multis++
					}
					if f.Op == "multi" && f.Dir == coordtest.ToClient && multis == 1 {
						x.meddle(w)
						return coordtest.HangUp
					}
					return coordtest.Pass
				})
				err = published(bg, config.NewTree(w.c, "/p", numbers), map[string]int{"a": 1, "b": 1})
				w.WantsOp(err, "publish", "/p", coord.ErrUnknown)
				if got := [2]string{w.Get("/p/a"), w.Get("/p/b")}; got != x.want || multis != 1 {
					t.Errorf("stored %q after %d transactions, want %q", got, multis, x.want)
				}
			})
		})
	}
}

// bent returns a client of a server that does not know the requests ops, and answers
// them with code, over w.link.
func (w *world) bent(code jute.Code, ops ...jute.Op) *coord.Client {
	w.Helper()
	c, err := coord.Dial(bg, []string{"server"}, &coord.Options{SessionTimeout: T, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := w.link.Dial(ctx, network, addr)
		return &harness.Tap{
			Conn: conn,
			Request: func(body []byte) []byte {
				if h := jute.NewDecoder(body).RequestHeader(); slices.Contains(ops, h.Op) {
					return jute.NewRequest(h.Xid, jute.OpCountChildren).Body() // which is not implemented
				}
				return body
			},
			Reply: func(body []byte) []byte {
				if jute.NewDecoder(body).ReplyHeader().Code == jute.CodeUnimplemented {
					return harness.Refuse(body, code)
				}
				return body
			},
		}, err
	}})
	w.Must(err)
	w.Cleanup(func() { c.Close() })
	return c
}

// On a server that does not know containers witnesses are ephemeral, and good for lost
// answers all the same. When the client is closed, or a session over, none is left.
func TestWitnessesWithoutContainers(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.bent(jute.CodeUnimplemented, jute.OpCreateContainer)
		witnesses := func() []string {
			t.Helper()
			names, _, err := w.op.Children("/_zkcoord")
			w.Must(err)
			return names
		}
		want := 0
		for range 2 {
			for _, dir := range []coordtest.Direction{coordtest.ToServer, coordtest.ToClient} {
				w.lose(dir)
				n, err := add(bg, c, "/n")
				if want++; err != nil || n != want || w.Get("/n") != fmt.Sprint(want) {
					t.Errorf("returned %d, %v; stored %s, want %d", n, err, w.Get("/n"), want)
				}
			}
			if len(witnesses()) == 0 {
				t.Error("there are no witnesses")
			}
			old := c.Kit().Session()
			for _, name := range witnesses() {
				_, stat, err := w.op.Get("/_zkcoord/" + name)
				if w.Must(err); coord.SessionID(stat.EphemeralOwner) != old.ID() || stat.NumChildren > 0 {
					t.Errorf("a witness is %+v", stat)
				}
			}
			w.Fake.Expire(old.ID())
			<-old.Done()
		}
		_, err := add(bg, c, "/n")
		w.Must(err)
		w.Must(c.Close())
		if left := witnesses(); len(left) > 0 {
			t.Errorf("left %q\n%s", left, w.Tree())
		}
	})
}

// A server that answers every create with a code without a name, which may mean
// "try again", does not keep Modify from changing what is there for longer than
// about a session timeout, and then not again in that session.
func TestCreatesNeverAnswered(t *testing.T) {
	bubble(t, func(w *world) {
		w.Create("/n", "1")
		c := w.bent(jute.CodeQuotaExceeded, jute.OpCreate, jute.OpCreateContainer)
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		for _, most := range []time.Duration{2 * T, T / 10} {
			began := time.Now()
			_, err := add(ctx, c, "/n")
			w.Must(err)
			if took := time.Since(began); took > most {
				t.Errorf("after %v, want %v at most", took, most)
			}
		}
		if w.Get("/n") != "3" {
			t.Errorf("stored %s", w.Get("/n"))
		}
	})
}

// On such a server changes that are given up leave nothing running behind them for
// longer than that.
func TestCreatesNeverAnsweredDoNotPileUp(t *testing.T) {
	bubble(t, func(w *world) {
		w.Create("/n", "1")
		c := w.bent(jute.CodeQuotaExceeded, jute.OpCreate, jute.OpCreateContainer)
		synctest.Wait()
		before := runtime.NumGoroutine()
		for began := time.Now(); time.Since(began) < 4*T; {
			ctx, cancel := context.WithTimeout(bg, T/40)
			_, _ = add(ctx, c, "/n")
			cancel()
			time.Sleep(T / 40)
		}
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > before+4 {
			t.Errorf("%d goroutines, %d before", n, before)
		}
	})
}

// A turnstile is a conn of which nothing is written while turn is full.
type turnstile struct {
	net.Conn
	turn chan struct{} // has a buffer of one
}

func (s turnstile) Write(b []byte) (int, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.Conn.Write(b)
}

// What encode returns may be overwritten as soon as Modify has returned, even if
// that is because ctx has ended, and the request is still to be sent.
func TestEncodeMayReuseItsBuffer(t *testing.T) {
	bubble(t, func(w *world) {
		turn := make(chan struct{}, 1)
		c := w.DialThrough(func(conn net.Conn) net.Conn { return turnstile{conn, turn} }, nil, nil).Client
		_, err := add(bg, c, "/n")
		w.Must(err)
		var buf []byte
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		_, err = config.New(c, "/n", config.Codec[int]{Decode: number, Encode: func(n int) ([]byte, error) {
			turn <- struct{}{} // the request will be about to be written, and not yet
			buf = strconv.AppendInt(nil, int64(n), 10)
			return buf, nil
		}}).Modify(ctx, increment)
		w.WantsOp(err, "modify", "/n", coord.ErrUnknown)
		buf[0] = '9'
		<-turn
		synctest.Wait()
		if got := w.Get("/n"); got != "2" {
			t.Errorf("stored %s", got)
		}
	})
}

// Where the ensemble does not let a client have witnesses, changes are made without,
// and a lost answer is judged by what is there.
func TestWithoutWitnesses(t *testing.T) {
	locked := func(w *world) {
		_, err := w.op.SetACL("/", zk.WorldACL(zk.PermRead), -1)
		w.Must(err)
	}
	lose := func(w *world, dir coordtest.Direction, and func()) {
		w.link.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "multi" && f.Dir == dir {
				w.link.OnFrame(nil)
				and()
				return coordtest.HangUp
			}
			return coordtest.Pass
		})
	}
	for _, x := range []struct {
		name    string
		dir     coordtest.Direction
		meddle  func(w *world) // when the frame is lost
		unknown bool
		want    string
	}{
		{"no fault", 0, nil, false, "2"},
		{"the request is lost", coordtest.ToServer, func(*world) {}, false, "2"},
		{"the answer is lost", coordtest.ToClient, func(*world) {}, true, "2"},
		{"the request is lost, and another stores something else", coordtest.ToServer, func(w *world) { w.Set("/n", "7") }, false, "8"},
		{"the request is lost, and another stores the same", coordtest.ToServer, func(w *world) { w.Set("/n", "2") }, true, "2"},
		{"the request is lost, and the session is over", coordtest.ToServer, func(w *world) { w.Expire(w.client) }, true, "1"},
	} {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.Create("/n", "1")
				locked(w)
				if x.meddle != nil {
					lose(w, x.dir, func() { x.meddle(w) })
				}
				_, err := add(bg, w.c, "/n")
				if errors.Is(err, coord.ErrUnknown) != x.unknown || !x.unknown && err != nil {
					t.Errorf("error %v", err)
				}
				if got := w.Get("/n"); got != x.want {
					t.Errorf("stored %s, want %s", got, x.want)
				}
				if tree := w.Tree(); strings.Contains(tree, "_zkcoord") {
					t.Errorf("there are witnesses:\n%s", tree)
				}
			})
		})
	}
}

package coord_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/harness"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// overQuota returns the answer in body with another code for each op that was refused.
func overQuota(body []byte) []byte {
	d := jute.NewDecoder(body)
	h := d.ReplyHeader()
	e := jute.NewReply(h.Xid, h.Zxid, h.Code)
	for {
		op := d.MultiHeader()
		switch {
		case d.Bad(): // of something else
			return body
		case op.Op == jute.OpError && op.Code == jute.CodeNoNode:
			op.Code = jute.CodeQuotaExceeded
		}
		e.MultiHeader(op)
		if op.Done {
			return e.Body()
		}
		d.Int32() // the code again
		e.Int32(int32(op.Code))
	}
}

// A transaction of which the ensemble says op by op that it failed was not carried
// out, whatever the code, such as that for an exceeded quota, which go-zookeeper
// has no name for; so it is not repeated.
func TestTransactRefused(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := l.Dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &harness.Tap{Conn: conn, Reply: overQuota}, nil
		}})
		must(t, err)
		w.Cleanup(func() { c.Close() })
		tries := 0
		l.OnFrame(func(f coordtest.Frame) coordtest.Action {
			if f.Op == "multi" && f.Dir == coordtest.ToServer {
				tries++
			}
			return coordtest.Pass
		})
		s := c.Kit().Session()
		err = s.Retry(bg, func() error {
			_, err := s.Txn(bg, coord.OpCheck("/none", -1), coord.OpDelete("/none", -1))
			return err
		})
		if !refused(err) || tries != 1 {
			t.Errorf("after %d tries: %v, which is no refusal", tries, err)
		}
	})
}

// A transaction of which the answer comes, but is cut short, may have been carried out.
func TestTransactAnswerCutShort(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.line()
		var cut atomic.Bool
		c, err := coord.Dial(bg, []string{"server"}, &coord.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := l.Dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &harness.Tap{Conn: conn, Reply: func(body []byte) []byte {
				if jute.NewDecoder(body).ReplyHeader().Xid >= 0 && cut.CompareAndSwap(true, false) {
					return body[:len(body)-12] // the end of a multi has 9 bytes
				}
				return body
			}}, nil
		}})
		must(t, err)
		w.Cleanup(func() { c.Close() })
		cut.Store(true)
		if _, err := c.Txn(bg, coord.OpCreate("/a", nil, 0)); !errors.Is(err, coord.ErrUnknown) || refused(err) {
			t.Errorf("error %v, want that the outcome is unknown", err)
		}
		if _, there, err := c.Exists(bg, "/a"); !there || cut.Load() {
			t.Errorf("there: %v, %v; cut: %v", there, err, !cut.Load())
		}
	})
}

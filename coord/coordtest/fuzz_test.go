package coordtest_test

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/jute"
)

// FuzzServer sends arbitrary bytes on a connection of their own, with and
// without a handshake before, directly and over a Link. Another client goes on.
func FuzzServer(f *testing.F) {
	hello := pack(int32(0), int64(0), int32(10000), int64(0), make([]byte, 16))
	acl := []any{int32(1), int32(31), worldScheme, "anyone"}
	requests := [][]byte{
		pack(append(append([]any{int32(1), jute.OpCreate, "/x", []byte("data")}, acl...), int32(3))...),
		pack(append(append([]any{int32(1), jute.OpCreateContainer, "/x", []byte("data")}, acl...), int32(4))...),
		pack(int32(1), jute.OpDelete, "/x", int32(-1)),
		pack(int32(1), jute.OpGetData, "/x", true),
		pack(int32(1), jute.OpSetData, "/x", []byte("data"), int32(-1)),
		pack(append([]any{int32(1), jute.OpSetACL, "/x"}, append(acl, int32(-1))...)...),
		pack(int32(1), jute.OpGetChildren2, "/", true),
		pack(int32(1), jute.OpMulti, int32(2), false, int32(-1), "/x", int32(0), int32(-1), true, int32(-1)),
		pack(int32(1), jute.OpAuth, int32(0), "digest", []byte("a:b")),
		pack(int32(1), jute.OpSetWatches, int64(0), int32(1), "/x", int32(1), "/y", int32(0)),
		pack(int32(-2), jute.OpPing),
		pack(int32(1), jute.OpClose),
	}
	f.Add([]byte{})
	f.Add([]byte("ruok"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 0})
	var all []byte
	for _, r := range requests {
		f.Add(r)
		f.Add(append(append([]byte{}, hello...), r...))
		f.Add(r[:len(r)-1])
		all = append(all, r...)
	}
	f.Add(append(append([]byte{}, hello...), all...))
	f.Fuzz(func(t *testing.T, data []byte) {
		bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
			good := w.session()
			for _, before := range [][]byte{nil, hello} {
				r := w.raw()
				direct, err := s.Dial(t.Context(), "", "")
				must(t, err)
				go r.Write(append(before[:len(before):len(before)], data...))
				go func() { // discard the answers
					for {
						if _, err := direct.Read(make([]byte, 1000)); err != nil {
							return
						}
					}
				}()
				direct.Write(before)
				direct.Write(data)
				synctest.Wait()
				r.Close()
				direct.Close()
			}
			if !good.answered(1) && !strings.Contains(w.log.String(), "error -101") {
				t.Errorf("the other client: %s", w.log.String())
			}
		})
	})
}

// TestAbsurdLength shows that a length alone allocates nothing.
func TestAbsurdLength(t *testing.T) {
	bubble(t, func(t *testing.T, s *coordtest.Server, w *world) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, n := range []uint32{1 << 20, 1 << 27, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			length := binary.BigEndian.AppendUint32(nil, n)
			direct, err := s.Dial(t.Context(), "", "")
			must(t, err)
			direct.Write(length)
			if _, err := direct.Read(make([]byte, 1)); err == nil {
				t.Errorf("length %d is accepted", n)
			}
			w.raw().Write(length)
			synctest.Wait()
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("allocated %d bytes", n)
		}
	})
}

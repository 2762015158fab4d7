package jute

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// messages are the kinds of message: for each a value, its bytes, and how to decode
// and to encode one.
var messages = []struct {
	value  any
	bytes  string // in hex, a group each field
	decode func(*Decoder) any
	encode func(*Encoder, any)
}{
	{
		RequestHeader{7, OpGetData}, "00000007 00000004",
		func(d *Decoder) any { return d.RequestHeader() },
		func(e *Encoder, v any) { h := v.(RequestHeader); e.Raw(NewRequest(h.Xid, h.Op).Body()) },
	},
	{
		ReplyHeader{XidEvent, 0x100000002, CodeNoNode}, "ffffffff 0000000100000002 ffffff9b",
		func(d *Decoder) any { return d.ReplyHeader() },
		func(e *Encoder, v any) { h := v.(ReplyHeader); e.Raw(NewReply(h.Xid, h.Zxid, h.Code).Body()) },
	},
	{
		ConnectRequest{0, 9, 4 * time.Second, 0x1234, []byte("pw"), []byte{1}}, "00000000 0000000000000009 00000fa0 0000000000001234 00000002 7077 01",
		func(d *Decoder) any { return d.ConnectRequest() },
		func(e *Encoder, v any) { e.ConnectRequest(v.(ConnectRequest)) },
	},
	{
		ConnectResponse{0, 4 * time.Second, 0x1234, []byte("pw"), []byte{}}, "00000000 00000fa0 0000000000001234 00000002 7077",
		func(d *Decoder) any { return d.ConnectResponse() },
		func(e *Encoder, v any) { e.ConnectResponse(v.(ConnectResponse)) },
	},
	{
		SetWatches{9, []string{"/a", "/b"}, nil, []string{"/"}}, "0000000000000009 00000002 00000002 2f61 00000002 2f62 00000000 00000001 00000001 2f",
		func(d *Decoder) any { return d.SetWatches() },
		func(e *Encoder, v any) { e.SetWatches(v.(SetWatches)) },
	},
	{
		Auth{0, "digest", []byte("u:p")}, "00000000 00000006 646967657374 00000003 753a70",
		func(d *Decoder) any { return d.Auth() },
		func(e *Encoder, v any) { e.Auth(v.(Auth)) },
	},
	{
		MultiHeader{OpError, true, -1}, "ffffffff 01 ffffffff",
		func(d *Decoder) any { return d.MultiHeader() },
		func(e *Encoder, v any) { e.MultiHeader(v.(MultiHeader)) },
	},
	{
		Event{3, 3, "/a"}, "00000003 00000003 00000002 2f61",
		func(d *Decoder) any { return d.Event() },
		func(e *Encoder, v any) { e.Event(v.(Event)) },
	},
	{
		Create{"/a", nil, []zk.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}, 3},
		"00000002 2f61 ffffffff 00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65 00000003",
		func(d *Decoder) any { return d.Create() },
		func(e *Encoder, v any) { e.Create(v.(Create)) },
	},
	{
		SetData{"/a", []byte("x"), -1}, "00000002 2f61 00000001 78 ffffffff",
		func(d *Decoder) any { return d.SetData() },
		func(e *Encoder, v any) { e.SetData(v.(SetData)) },
	},
	{
		Versioned{"/a", 7}, "00000002 2f61 00000007",
		func(d *Decoder) any { return d.Versioned() },
		func(e *Encoder, v any) { e.Versioned(v.(Versioned)) },
	},
	{
		Read{"/a", true}, "00000002 2f61 01",
		func(d *Decoder) any { return d.Read() },
		func(e *Encoder, v any) { e.Read(v.(Read)) },
	},
	{
		zk.Stat{Czxid: 1, Mzxid: 2, Ctime: 3, Mtime: 4, Version: 5, Cversion: 6, Aversion: 7, EphemeralOwner: 8, DataLength: 9, NumChildren: 10, Pzxid: 11},
		"0000000000000001 0000000000000002 0000000000000003 0000000000000004 00000005 00000006 00000007 0000000000000008 00000009 0000000a 000000000000000b",
		func(d *Decoder) any { return d.Stat() },
		func(e *Encoder, v any) { e.Stat(v.(zk.Stat)) },
	},
	{
		[]zk.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}, "00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65",
		func(d *Decoder) any { return d.ACLs() },
		func(e *Encoder, v any) { e.ACLs(v.([]zk.ACL)) },
	},
	{
		[][]byte{nil, {}, {1}}, "ffffffff 00000000 00000001 01",
		func(d *Decoder) any { return [][]byte{d.Bytes(), d.Bytes(), d.Bytes()} },
		func(e *Encoder, v any) {
			for _, b := range v.([][]byte) {
				e.Bytes(b)
			}
		},
	},
}

// Each message has the layout of the protocol, and decodes to what it was.
func TestLayout(t *testing.T) {
	for _, m := range messages {
		var want []byte
		fmt.Sscanf(string(bytes.ReplaceAll([]byte(m.bytes), []byte(" "), nil)), "%x", &want)
		e := NewFrame()
		m.encode(e, m.value)
		if got := e.Body(); !bytes.Equal(got, want) {
			t.Errorf("%+v is encoded as %x, want %x", m.value, got, want)
		}
		d := NewDecoder(want)
		if got := m.decode(d); !reflect.DeepEqual(got, m.value) || d.Bad() {
			t.Errorf("%x is decoded as %+v, want %+v", want, got, m.value)
		}
		for n := range want { // the fields that may be absent are the last
			d := NewDecoder(want[:n])
			v := m.decode(d)
			if _, tail := v.(ConnectRequest); !d.Bad() && !(tail && n == len(want)-1) {
				t.Errorf("%x is cut short, and decoded as %+v", want[:n], v)
			}
		}
	}
}

// A list of any length comes out as it went in, with far fewer allocations than it has
// strings; and to keep one of them does not keep the others.
func TestStrings(t *testing.T) {
	for _, n := range []int{0, 1, 20, 21, 22, 1000} {
		var want []string
		for i := range n {
			want = append(want, strings.Repeat("é", i%90))
		}
		want = append(want, strings.Repeat("x", 5000), "", "last")
		e := NewFrame()
		e.Strings(want)
		e.Int32(7)
		var got []string
		allocs := testing.AllocsPerRun(1, func() {
			d := NewDecoder(e.Body())
			if got = d.Strings(); d.Int32() != 7 || d.Bad() {
				t.Errorf("of %d strings something is left", n)
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("%d strings have become %q", n, got)
		}
		if n == 1000 && allocs > 150 {
			t.Errorf("%v allocations for %d strings", allocs, n)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := func() string {
		e := NewFrame()
		e.Strings(append([]string{"kept", strings.Repeat("x", 1<<20)}, make([]string, 1<<20)...))
		return NewDecoder(e.Body()).Strings()[0]
	}()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<16 {
		t.Errorf("%q keeps %d bytes", kept, grown)
	}
	runtime.KeepAlive(kept)
}

// A header is overwritten in place.
func TestPut(t *testing.T) {
	e := NewReply(1, 2, OK)
	e.String("/a")
	h := NewDecoder(e.Body()).ReplyHeader()
	h.Zxid = 0
	h.Put(e.Body())
	want := NewReply(1, 0, OK)
	want.String("/a")
	if !bytes.Equal(e.Frame(), want.Frame()) {
		t.Errorf("got %x, want %x", e.Frame(), want.Frame())
	}
}

// A length alone allocates nothing, and one that cannot be true is refused.
func TestReadFrame(t *testing.T) {
	const limit = 1 << 30
	for _, x := range []struct {
		in   string
		want error
	}{
		{"", io.EOF},
		{"\x00\x00", io.ErrUnexpectedEOF},
		{"\x00\x00\x00\x02a", io.ErrUnexpectedEOF},
		{"\x00\x00\x00\x02", io.ErrUnexpectedEOF},
		{"\x3f\xff\xff\xffa", io.ErrUnexpectedEOF},
		{"\x40\x00\x00\x01a", ErrMalformed},
		{"\xff\xff\xff\xff", ErrMalformed},
		{"\x00\x00\x00\x02abc", nil},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		body, err := ReadFrame(bytes.NewReader([]byte(x.in)), limit)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, x.want) || err == nil && string(body) != "ab" {
			t.Errorf("%q: %q, %v, want error %v", x.in, body, err, x.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%q: %d bytes allocated", x.in, n)
		}
	}
}

// FuzzDecoder decodes arbitrary bytes as each message. What comes out can be encoded,
// and is then decoded as itself.
func FuzzDecoder(f *testing.F) {
	for _, m := range messages {
		e := NewFrame()
		m.encode(e, m.value)
		f.Add(e.Body())
	}
	f.Add([]byte("\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xfe\x00\x00\x00\x02\xff/"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range messages {
			d := NewDecoder(data)
			v := m.decode(d)
			if d.Bad() {
				if d.Int64() != 0 || d.String() != "" || d.Bool() || d.Rest() != nil {
					t.Errorf("%T: bad, and more comes out", v)
				}
				continue
			}
			e := NewFrame()
			m.encode(e, v)
			d = NewDecoder(e.Body())
			if again := m.decode(d); !reflect.DeepEqual(again, v) || d.Bad() {
				t.Errorf("%x is decoded as %+v, and that again as %+v", data, v, again)
			}
			if frame := e.Frame(); len(frame) != 4+len(e.Body()) {
				t.Errorf("%T: a frame of %d bytes for a body of %d", v, len(frame), len(e.Body()))
			}
		}
	})
}

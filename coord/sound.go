package coord

import "github.com/zkcoord/zkcoord/internal/jute"

// sound reports whether go-zookeeper can take body, which follows the header of an answer to
// a request of its own of the kind op. It believes the lengths of lists, and allocates as
// much as they claim; and of an answer that ends in the middle of a field it panics, on a
// goroutine that is nobody's to recover. What it makes an error of itself is let through.
func sound(op jute.Op, body []byte) bool {
	d := jute.NewDecoder(body)
	switch op {
	case jute.OpGetData, jute.OpReconfig:
		d.Bytes()
	case jute.OpGetChildren, jute.OpGetChildren2:
		skip(d, func() { d.Bytes() })
	case jute.OpGetACL:
		skip(d, func() {
			d.Int32()
			d.Bytes()
			d.Bytes()
		})
	case jute.OpMulti:
		skipMulti(d)
	}
	return !d.Bad()
}

// skip takes a list, with one for each of its elements. A list that is null is not sound.
func skip(d *jute.Decoder, one func()) {
	n := d.Int32()
	if n < 0 {
		d.Fail()
	}
	for ; n > 0 && !d.Bad(); n-- {
		one()
	}
}

// skipMulti takes the results of a transaction.
func skipMulti(d *jute.Decoder) {
	for {
		h := d.MultiHeader()
		if h.Done || d.Bad() {
			return
		}
		switch h.Op {
		case jute.OpError:
			d.Int32()
		case jute.OpCreate:
			d.Bytes()
		case jute.OpSetData:
			d.Stat()
		}
	}
}

package sim

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"sync"
	"time"

	"github.com/zkcoord/zkcoord/internal/backoff"
)

// deterministic replaces what is left to chance in the process, jitters and ids, by
// functions of the seed and of the time in the bubble, until restore is called. They are
// not sequences, in which one number more would change all that come later.
func deterministic(seed uint64) (restore func()) {
	random, reader := backoff.Random, rand.Reader
	backoff.Random = func(n int64) int64 {
		return int64(hash(seed, uint64(time.Now().UnixNano()), uint64(n)) % uint64(n))
	}
	rand.Reader = &ids{seed: seed}
	return func() { backoff.Random, rand.Reader = random, reader }
}

// ids are bytes that differ from one reading to the next.
type ids struct {
	seed uint64

	mu   sync.Mutex // guards the rest
	last int64      // time of the last reading
	n    uint64     // readings at that time
}

var _ io.Reader = (*ids)(nil)

// Read implements [io.Reader].
func (r *ids) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now().UnixNano()
	if now != r.last {
		r.last, r.n = now, 0
	}
	r.n++
	var word [8]byte
	for i := 0; i < len(b); i += len(word) {
		binary.LittleEndian.PutUint64(word[:], hash(r.seed, uint64(now), r.n, uint64(i)))
		copy(b[i:], word[:])
	}
	return len(b), nil
}

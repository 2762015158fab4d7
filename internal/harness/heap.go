package harness

import "runtime"

// Heap returns how much of it is in use, in bytes, once w is at rest and what nobody
// needs is collected.
func (w *World) Heap() int64 {
	w.Rest()
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

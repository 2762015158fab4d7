package event

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// A Stat of go-zookeeper's converts to one of ours, and tells the times.
func TestStat(t *testing.T) {
	s := Stat(zk.Stat{Czxid: 1, Mzxid: 2, Ctime: 1_700_000_000_123, Mtime: 1_700_000_001_000, Version: 3, Pzxid: 4})
	if s.Czxid != 1 || s.Mzxid != 2 || s.Version != 3 || s.Pzxid != 4 {
		t.Errorf("%+v", s)
	}
	if at := time.UnixMilli(1_700_000_000_123); !s.Created().Equal(at) || s.Modified().Sub(at) != 877*time.Millisecond {
		t.Errorf("created %v, modified %v", s.Created(), s.Modified())
	}
}

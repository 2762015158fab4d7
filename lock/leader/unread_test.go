package leader_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/harness"
)

// permit sets what everybody may do with the announcement.
func (w place) permit(perms int32) {
	w.Helper()
	_, err := w.Op().SetACL(w.Dir+"-leader", zk.WorldACL(perms), -1)
	w.Must(err)
}

// stored reports whether value is in the announcement, whoever may read that.
func (w place) stored(value string) bool {
	for line := range strings.Lines(w.Tree()) {
		if strings.Contains(line, w.Dir+"-leader") && strings.Contains(line, value) {
			return true
		}
	}
	return false
}

// A leader that may write its announcement and not read it has published when Publish
// returns nil, and Publish does, whenever it is called. In between the ensemble is asked at
// most three times a minute whether it may be read by now. It is not asked at all if the
// connection was restored before the first Publish, since what has not changed is not read.
func TestPublishUnread(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		w := place{hw}
		a := w.Client(harness.Long)
		h := w.leads(a, "value")
		w.Rest()
		w.permit(zk.PermAll &^ zk.PermRead)
		w.Flap(a.Client, a.Link.Reset) // after which it is read again
		for i, pause := range []time.Duration{0, 500 * time.Millisecond, 5 * time.Second, time.Minute, time.Hour} {
			record := harness.RecordLink(a.Link)
			time.Sleep(pause) // of the bubble
			reads := 0
			for _, r := range record.Requests() {
				if strings.HasSuffix(r, "-leader") {
					reads++
				}
			}
			if most := 10 + int(pause/(20*time.Second)); reads > most {
				t.Errorf("%d reads in %v, want at most %d", reads, pause, most)
			}
			value := "value " + "abcde"[i:i+1]
			ctx, cancel := context.WithTimeout(bg, time.Minute)
			if err := w.election(a).Publish(ctx, h, []byte(value)); err != nil || !w.stored(value) {
				t.Errorf("after %v: published %q: %v\n%s", pause, value, err, w.Tree())
			}
			cancel()
		}
		w.permit(zk.PermAll) // or else it stays until the session ends
		w.Must(h.Release(bg))
		w.nothingLeft()
	})
}

// However long something was refused, and that was tried again less and less often: once it
// has been allowed, the next refusal is tried again within 2 s.
func TestRefusedAgain(t *testing.T) {
	harness.Bubble(t, func(hw *harness.World) {
		w := place{hw}
		a := w.Client(harness.Long)
		e, h := w.election(a), w.leads(a, "value")
		w.Rest()
		soon := func(what string, ok func() bool) {
			t.Helper()
			began := time.Now()
			w.Eventually(what, ok)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%s after %v", what, took)
			}
		}
		for _, value := range []string{"first", "second"} {
			w.permit(zk.PermAll &^ zk.PermWrite)
			if err := e.Publish(bg, h, []byte(value)); err == nil {
				t.Errorf("published %q", value)
			}
			if value == "first" {
				time.Sleep(10 * time.Minute) // of the bubble
			}
			w.permit(zk.PermAll)
			if value == "first" {
				time.Sleep(2 * time.Minute)
			}
			soon(value, func() bool { return w.stored(value) })
		}

		for _, refused := range []time.Duration{10 * time.Minute, 0} {
			w.permit(zk.PermAll &^ zk.PermRead)
			w.Flap(a.Client, a.Link.Reset) // after which it is read again
			w.Rest()
			time.Sleep(refused)
			w.permit(zk.PermAll)
			if refused > 0 {
				time.Sleep(2 * time.Minute)
			}
		}
		w.Delete(w.Dir + "-leader")
		soon("made again", func() bool { return w.stored("second") })
		w.Must(h.Release(bg))
		w.nothingLeft()
	})
}

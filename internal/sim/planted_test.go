package sim

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// plants are things that are broken on purpose, and what each breaks.
var plants = []struct {
	name  string
	rules []string
	Plant
}{
	{"a store that does not compare tokens", []string{"fencing", "tokens"}, Plant{NoFence: true}},
	{"writers without a guard", []string{"guards"}, Plant{NoGuard: true}},
	{"holders that stop late", []string{"exclusion"}, Plant{Deaf: true}},
	{"a lock that is impatient", []string{"exclusion", "guards"}, Plant{Lock: impatient}},
	{"additions that are lost", []string{"sums", "unexpected error"}, Plant{Add: forgetful}},
}

// What is broken on purpose is found; and, in the long form, the script is shrunk to a few lines.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			most := uint64(harness.Times(20, 100))
			for seed := range most { // most often one of the first three
				s := Generate(seed, short)
				r := Play(t, s, p.Plant)
				if len(r.Violations) == 0 {
					continue
				}
				found := r.Violations[0]
				if !slices.Contains(p.rules, found.Rule) {
					t.Errorf("it is found as %s", found)
				}
				small := Shrink(s, harness.Times(0, 400), func(s *Script) bool {
					r := Play(t, s, p.Plant)
					return len(r.Violations) > 0 && r.Violations[0].Rule == found.Rule
				})
				t.Logf("found by script %d, of %d lines, which are shrunk to\n%s\n%s", seed+1, len(s.Lines), small, found)
				return
			}
			t.Errorf("not found by %d scripts", most)
		})
	}
}

// impatient acquires a lock that waits for the one before it for three seconds at most.
func impatient(ctx context.Context, c *coord.Client, dir string) *coord.Hold {
	return c.Kit().NewHold(ctx, "acquire", dir, func(k *coord.Keeper) error {
		s, err := k.Await(ctx)
		if err != nil {
			return err
		}
		ctx := context.Background()
		var made []coord.OpResult
		err = s.InDir(ctx, dir, func() (err error) {
			made, err = s.Txn(ctx, coord.OpCreate(dir+"/x-lock-", nil, coord.Ephemeral|coord.Sequential))
			return err
		})
		if err != nil {
			k.End(err)
			return err
		}
		node := made[0].Path
		defer func() { _ = s.Delete(ctx, node, -1) }()
		for waited := time.Duration(0); waited < 3*time.Second; waited += 100 * time.Millisecond {
			names, _, err := s.Children(ctx, dir)
			if err != nil {
				return err
			}
			ahead := func(name string) bool { return tail(name) < tail(node) }
			if !slices.ContainsFunc(names, ahead) {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		n, err := s.Get(ctx, node)
		if err != nil || !n.Exists {
			return errors.Join(err, coord.ErrDeleted)
		}
		if err := s.Renew(ctx, node); err != nil {
			return err
		}
		if err := k.Acquired(s, node, coord.Token(n.Stat.Czxid)); err != nil {
			return err
		}
		select {
		case <-k.Released():
		case <-k.Context().Done():
		}
		return nil
	})
}

// forgetful adds to a counter by a read and a write, of which others know nothing.
func forgetful(ctx context.Context, c *coord.Client, path string, delta int64) (int64, error) {
	data, _, err := c.Get(ctx, path)
	if err != nil && !errors.Is(err, coord.ErrNoNode) {
		return 0, err
	}
	n, _ := strconv.ParseInt(string(data), 10, 64)
	n += delta
	if err == nil {
		_, err = c.Set(ctx, path, strconv.AppendInt(nil, n, 10), -1)
		return n, err
	}
	_, _ = c.Create(ctx, "/counter", nil, coord.Persistent) // it may be there
	_, err = c.Create(ctx, path, strconv.AppendInt(nil, n, 10), coord.Persistent)
	return n, err
}

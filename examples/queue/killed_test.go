package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/coord/coordtest"
	"github.com/zkcoord/zkcoord/internal/ensemble"
	"github.com/zkcoord/zkcoord/internal/harness"
)

// What a child process is told to do: "put", "take" or "collect", the server, the directory, the step
// at which it dies, and how often it passes that before.
const childEnv = "ZKCOORD_TEST_QUEUE"

// asChild does what a child process is to do, if this is one.
func asChild() bool {
	task := os.Getenv(childEnv)
	if task == "" {
		return false
	}
	args := strings.Split(task, ",")
	left, err := strconv.Atoi(args[len(args)-1])
	if len(args) != 5 || err != nil {
		fmt.Println("no task:", task)
		os.Exit(1) // and no tests, which would start others
	}
	step = func(at, what string) {
		if at == "read" {
			fmt.Println("began", what)
		}
		if at == args[3] {
			if left--; left < 0 {
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Kill()
				select {} // it is dead
			}
		}
	}
	if err := child(args[0], args[1], args[2]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return true
}

const items = 24 // that are put

func child(what, server, dir string) error {
	ctx := context.Background()
	c, err := coord.Dial(ctx, []string{server}, &coord.Options{SessionTimeout: harness.T})
	if err != nil {
		return err
	}
	defer c.Close()
	q, err := Open(ctx, c, dir)
	if err != nil {
		return err
	}
	switch what {
	case "take":
		return q.Work(ctx, countWords)
	case "collect":
		return q.Results(ctx, func(id string, result []byte) { fmt.Printf("result %s %s\n", id, result) })
	}
	for i := range items {
		if err := q.Put(ctx, fmt.Sprint("item-", i), i%3, []byte(strings.Repeat("word ", i))); err != nil {
			return err
		}
	}
	return nil
}

// Takers that are killed with SIGKILL at any step, and a program that is killed while it
// puts and started again, neither lose an item nor do one twice: each has one result, and
// an item that was begun by a taker that died is done with a greater token. Those that
// collect the results and are killed lose none, and repeat no more than the last.
func TestKilled(t *testing.T) {
	t.Run("fake", func(t *testing.T) {
		t.Parallel()
		server, err := coordtest.Start()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		killed(t, server.Addr(), "/queue")
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		killed(t, ensemble.Shared(t).Node(0).Addr(), fmt.Sprintf("/queue-%d", time.Now().UnixNano()))
	})
}

func killed(t *testing.T, server, dir string) {
	start := func(words ...any) (wait func() string) {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		args := fmt.Sprintf("%v,%v,%v,%v,%v", words...)
		cmd.Env = append(os.Environ(), childEnv+"="+args)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return func() string {
			err := cmd.Wait()
			exit := new(exec.ExitError)
			if err != nil && (!errors.As(err, &exit) || exit.Exited()) {
				t.Errorf("%s: %v\n%s", args, err, &out)
			}
			if (err != nil) != (words[3] != "never") {
				t.Errorf("%s: it has ended with %v\n%s", args, err, &out)
			}
			return out.String()
		}
	}
	// The one that puts is killed before and after the tenth item, and started again.
	start("put", server, dir, "put", 10)()
	start("put", server, dir, "was put", 10)()
	start("put", server, dir, "never", 0)()

	var all sync.WaitGroup
	var mu sync.Mutex
	var began []string
	for _, at := range []string{"listed", "taken", "read", "done", "finished", "released"} {
		wait := start("take", server, dir, at, 0)
		all.Go(func() {
			out := wait()
			mu.Lock()
			defer mu.Unlock()
			began = append(began, out)
		})
	}
	all.Wait() // they have died, and most of their sessions live on

	c := harness.Dial(t, []string{server}, &coord.Options{SessionTimeout: harness.Long})
	q, err := Open(t.Context(), c, dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	work := make(chan error, 1)
	again := make(map[string]coord.Token)
	go func() {
		work <- q.Work(ctx, func(ctx context.Context, item Item) ([]byte, error) {
			again[item.ID] = item.Token
			return countWords(ctx, item)
		})
	}()
	left := func() int {
		names, _, err := c.Children(t.Context(), dir+"/items")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	for deadline := time.Now().Add(time.Minute); left() > 0; <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d items are left", left())
		}
	}
	stop()
	if err := <-work; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	got := make(map[string]string)
	collected := 0
	collect := func(id, result string) {
		if other, ok := got[id]; ok && other != result {
			t.Errorf("%s has the results %q and %q", id, other, result)
		}
		got[id] = result
		collected++
	}
	for _, at := range []string{"fetched", "collected", "removed"} {
		for line := range strings.Lines(start("collect", server, dir, at, 3)()) {
			if line, ok := strings.CutPrefix(line, "result "); ok {
				id, result, _ := strings.Cut(strings.TrimSpace(line), " ")
				collect(id, result)
			}
		}
	}
	if err := q.Results(t.Context(), func(id string, result []byte) { collect(id, string(result)) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != items || collected != items+1 { // the one that has died after "collected" has left its last
		t.Errorf("%d results for %d items were collected %d times", len(got), items, collected)
	}
	for i := range items {
		id := fmt.Sprint("item-", i)
		if want := fmt.Sprintf("%d words, ", i); !strings.HasPrefix(got[id], want) {
			t.Errorf("the result of %s is %q", id, got[id])
		}
	}
	for _, rest := range []string{"ids", "results"} {
		if names, _, err := c.Children(t.Context(), dir+"/"+rest); err != nil || len(names) > 0 {
			t.Errorf("%s: %q, %v", rest, names, err)
		}
	}
	// What the one that was killed while doing it had begun, we have done, or, if the children
	// were started far apart, another child.
	tokens := make(map[string][]coord.Token)
	for id, token := range again {
		tokens[id] = append(tokens[id], token)
	}
	for _, out := range began {
		for line := range strings.Lines(out) {
			var id string
			var token coord.Token
			if n, _ := fmt.Sscanf(line, "doing %s with token %d", &id, &token); n == 2 {
				id = strings.TrimSuffix(id, ",")
				tokens[id] = append(tokens[id], token)
			}
		}
	}
	twice := 0
	for id, all := range tokens {
		if len(all) > 1 {
			twice++
		}
		slices.Sort(all)
		if len(slices.Compact(slices.Clone(all))) < len(all) {
			t.Errorf("%s was taken with the tokens %d", id, all)
		}
		if last := fmt.Sprintf(", with token %d", all[len(all)-1]); !strings.HasSuffix(got[id], last) {
			t.Errorf("%s was taken with the tokens %d, and its result is %q", id, all, got[id])
		}
	}
	if twice == 0 {
		t.Error("no item was begun twice: nobody was killed while doing one")
	}
	slices.Sort(began)
	t.Logf("%d items were begun twice; the takers that were killed said %q", twice, began)
}

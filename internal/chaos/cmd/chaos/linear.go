package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/zkcoord/zkcoord/internal/chaos"
)

// searchOrder has the histories in dir checked once more, by a program that needs modules which
// this one does not. Pictures of what it finds stay in dir. It is run from its source, and so
// only where that is.
func searchOrder(ctx context.Context, dir string) error {
	const source = "internal/history/linear"
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		fmt.Println("no order of the operations was searched for: this is not the root of the module")
		return nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "history", "*.jsonl"))
	if err != nil {
		return err
	}
	args := append([]string{"run", ".", "-stale", strings.Join(chaos.Stale, ","), "-out", dir}, files...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = source, os.Stdout, os.Stderr
	return cmd.Run()
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		stop()
		os.Exit(1)
	}
}

// command does what args ask for.
func command(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("mutation", flag.ExitOnError)
	var (
		match   = flags.String("run", "", "only the mutants whose names match `regexp`")
		count   = flags.Int("sample", 0, "only `n` of them")
		seed    = flags.Int("seed", int(time.Now().Unix()/(24*60*60)), "which those are: each `number` has the next ones; today's is the day's since 1970")
		missing = flags.Bool("missing", false, "only those that have no row in "+tablePath)
		list    = flags.Bool("list", false, "print them, and run nothing")
		write   = flags.Bool("write", false, "put the results into "+tablePath)
		limit   = flags.Duration("timeout", 2*time.Minute, "for the tests of one package")
		budget  = flags.Duration("for", 0, "begin with no other mutant after this time; 0 means no limit")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*match)
	if err != nil {
		return err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	name := filepath.Join(root, filepath.FromSlash(tablePath))
	rows, err := readTable(name)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(all(), func(m mutant) bool {
		_, known := rows[m.id()]
		return !pattern.MatchString(m.id()) || *missing && known
	})
	if *count > 0 {
		chosen = sample(chosen, *count, *seed)
		fmt.Fprintf(out, "%d of the mutants; again with -sample %d -seed %d\n", len(chosen), *count, *seed)
	}
	if *list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%-36s %s\n", m.id(), m.breaks)
		}
		return nil
	}
	s := session{out: out, rows: rows, runner: runner{root: root, limit: *limit, last: map[string]verdict{}}}
	for id, r := range rows {
		s.last[id] = r.verdict
	}
	if *write {
		s.table = name
		if s.commit, err = commit(ctx, root); err != nil {
			return err
		}
	}
	return s.run(ctx, chosen, *budget)
}

// moduleRoot returns the directory of the module that the working directory is in.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	file := strings.TrimSpace(string(out))
	if filepath.Base(file) != "go.mod" {
		return "", errors.New("not inside of the module")
	}
	return filepath.Dir(file), nil
}

// commit returns the short name of the commit that is checked out in root.
func commit(ctx context.Context, root string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD")
	cmd.Dir = root
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// A session is one run of the command.
type session struct {
	runner
	out    io.Writer
	rows   table
	table  string // the file to be written; empty if none is
	commit string
}

// run tries mutants one after the other, and returns an error if one of them is not as it
// should be.
func (s *session) run(ctx context.Context, mutants []mutant, budget time.Duration) error {
	began := time.Now()
	wrong, tried := 0, 0
	for _, m := range mutants {
		if budget > 0 && time.Since(began) > budget {
			break
		}
		v, err := s.runner.run(ctx, m)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		tried++
		said, ok := describe(m, v, err)
		if !ok {
			wrong++
		}
		fmt.Fprintf(s.out, "%-36s %6.1fs  %s\n", m.id(), v.took.Seconds(), said)
		if err != nil || s.table == "" {
			continue
		}
		s.rows[m.id()] = row{v, s.commit}
		if err := s.rows.write(s.table, all(), time.Now()); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.out, "%d of %d mutants tried in %v, %d not as they should be\n", tried, len(mutants), time.Since(began).Round(time.Second), wrong)
	if wrong > 0 {
		return fmt.Errorf("%d mutants are not as they should be", wrong)
	}
	return nil
}

// describe says what became of m, and whether that is as it should be.
func describe(m mutant, v verdict, err error) (said string, ok bool) {
	why, harmless := harmless[m.id()]
	switch {
	case err != nil:
		return "ERROR: " + err.Error(), false
	case v.end == passed && harmless:
		return "survived, and is harmless: " + why, true
	case v.end == passed:
		return "SURVIVED, though it breaks something: " + m.breaks, false
	case harmless:
		return fmt.Sprintf("NOT HARMLESS, as is said: %v: %s %s", v.end, v.pkg, v.test), false
	}
	return fmt.Sprintf("%v: %s %s", v.end, v.pkg, v.test), true
}

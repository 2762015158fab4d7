package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/zkcoord/zkcoord/coord"
)

// A journal is the file of one participant. Each line has the token of the Hold under which
// it was written, what happened, to which transaction, the amount, and a full stop:
//
//	17 prepared K5M3 -10 .
//	17 committed K5M3 -10 .
//
// A line without the full stop was cut short by a crash, and does not count. Nor does one
// whose token is less than that of an earlier line: its writer did not know that another had
// taken its place, which has not read the line.
type journal struct {
	file *os.File
	h    *coord.Hold

	mu sync.Mutex
	account
}

// An account is what the lines of a journal add up to.
type account struct {
	token   coord.Token // the greatest so far
	balance int64
	open    map[string]int64 // amounts that we are prepared for
	done    map[string]bool  // what was committed
}

// replay returns what lines make of a balance.
func replay(lines []byte, balance int64) account {
	a := account{balance: balance, open: make(map[string]int64), done: make(map[string]bool)}
	for line := range bytes.Lines(lines) {
		var token coord.Token
		var verb, id string
		var amount int64
		n, _ := fmt.Sscanf(string(line), "%d %s %s %d", &token, &verb, &id, &amount)
		if n == 4 && bytes.HasSuffix(line, []byte(" .\n")) {
			a.apply(token, verb, id, amount)
		}
	}
	return a
}

func (a *account) apply(token coord.Token, verb, id string, amount int64) {
	if token < a.token {
		return
	}
	a.token = token
	switch verb {
	case "prepared":
		a.open[id] = amount
	case "committed":
		a.balance += amount
		a.done[id] = true
		delete(a.open, id)
	case "aborted":
		delete(a.open, id)
	}
}

// open opens the journal at path for the holder h of the participant's name, which writes its
// token first: after that no earlier holder is heard.
func open(path string, h *coord.Hold, balance int64) (_ *journal, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	j := &journal{file: file, h: h, account: replay(nil, balance)}
	if _, err := file.WriteString("\n"); err != nil { // ends what was cut short
		return nil, err
	}
	if err := j.write("began", "-", 0); err != nil {
		return nil, err
	}
	lines, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	j.account = replay(lines, balance)
	return j, nil
}

func (j *journal) close() { j.file.Close() }

// write adds a line, which counts from then on.
func (j *journal) write(verb, id string, amount int64) error {
	if err := j.h.Err(); err != nil {
		return err
	}
	token := j.h.Token()
	if _, err := fmt.Fprintf(j.file, "%d %s %s %d .\n", token, verb, id, amount); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.apply(token, verb, id, amount)
	return nil
}

// inDoubt returns the transactions that we are prepared for.
func (j *journal) inDoubt() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Collect(maps.Keys(j.open))
}

func (j *journal) prepared(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.open[id]
	return ok
}

// prepare keeps the amount for a transaction, and reports whether it can: whether the balance
// is enough for this and all others, and the transaction was not carried out before.
func (j *journal) prepare(id string, amount int64) (bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, ok := j.open[id]; ok {
		return true, nil
	}
	rest := j.balance
	for _, other := range j.open {
		rest += min(other, 0)
	}
	if j.done[id] || rest+amount < 0 {
		return false, nil
	}
	return true, j.write("prepared", id, amount)
}

func (j *journal) commit(id string) error { return j.end("committed", id) }
func (j *journal) abort(id string) error  { return j.end("aborted", id) }

func (j *journal) end(verb, id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(verb, id, j.open[id])
}

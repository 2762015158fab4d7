package coord

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// SASL is the client's side of one authentication by a mechanism of SASL (RFC 4422), on one
// connection. [DigestMD5] is one. Its methods are called one after the other, on a
// goroutine of the client.
type SASL interface {
	// Step returns the response to the server's challenge. The first challenge is nil, and
	// the response may be empty. ctx bounds what the mechanism asks of others. An error
	// ends the connection, and the client goes on with the next server; one that is
	// [ErrAuthFailed] is taken for a refusal that another attempt would not change.
	Step(ctx context.Context, challenge []byte) (response []byte, err error)
	// Complete reports whether the mechanism needs no further challenge. The last response
	// is sent unless it is nil.
	Complete() bool
}

// xidSASL numbers the requests of authenticateSASL, which nothing else is under way with.
const xidSASL = -9

// maxSteps is more challenges than any mechanism has.
const maxSteps = 32

// authenticateSASL authenticates the client by Options.SASL, if that is set. It comes
// before everything else on a connection, because a server that requires it ends the
// session at any other request.
func (t *tappedConn) authenticateSASL() error {
	begin := t.s.c.opts.SASL
	if begin == nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(t.s.ctx, t.by)
	defer cancel()
	var sasl SASL
	err := returned(func() (err error) { sasl, err = begin(t.at.host()); return err })
	switch {
	case err != nil:
		return fmt.Errorf("Options.SASL: %w", err)
	case sasl == nil:
		return errors.New("Options.SASL returned neither mechanism nor error")
	}
	var challenge []byte
	for range maxSteps {
		var response []byte
		var complete bool
		err := returned(func() (err error) {
			response, err = sasl.Step(ctx, challenge)
			complete = sasl.Complete()
			return err
		})
		if err != nil {
			return fmt.Errorf("SASL: %w", err)
		}
		if complete && response == nil {
			return nil
		}
		if challenge, err = t.askSASL(response); err != nil || complete {
			return err
		}
	}
	return fmt.Errorf("SASL: no end after %d challenges", maxSteps)
}

// askSASL sends a response and returns the server's next challenge, which is not nil.
func (t *tappedConn) askSASL(response []byte) ([]byte, error) {
	e := jute.NewRequest(xidSASL, jute.OpSASL)
	e.Bytes(append([]byte{}, response...)) // empty, but never null
	if _, err := t.Conn.Write(e.Frame()); err != nil {
		return nil, err
	}
	frame, err := t.readFrame()
	if err != nil {
		return nil, err
	}
	d := jute.NewDecoder(frame[4:])
	h := d.ReplyHeader()
	if err := denied("sasl", h.Code); err != nil {
		return nil, err
	}
	challenge := d.Bytes()
	if h.Xid != xidSASL || d.Bad() {
		return nil, fmt.Errorf("%w: SASL answered by %d bytes", errMangled, len(frame))
	}
	return append([]byte{}, challenge...), nil
}

// returned calls f, which calls functions of the program, on a goroutine of its own, and
// returns what f returns. The calling goroutine is go-zookeeper's: if a function of the
// program ended that, with runtime.Goexit, the session would never connect again, nor end.
func returned(f func() error) error {
	err := errExited
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = f()
	}()
	<-done
	return err
}

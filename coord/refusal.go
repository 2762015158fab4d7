package coord

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/zkcoord/zkcoord/internal/jute"
)

var (
	errPending  = errors.New("no answer yet")
	errUntried  = errors.New("not tried")
	errHopeless = errors.New("refused by every server")
	errSilent   = errors.New("server fell silent")
	errMangled  = errors.New("server does not speak the protocol")
	errWantsTLS = errors.New("server speaks TLS: set Options.TLS")
)

// denied returns what is wrong with the client if a server's answer has this code; it
// is the answer to a credential of scheme, unless scheme is empty. Behind such an
// answer servers hang up.
func denied(scheme string, code jute.Code) error {
	switch {
	case code == jute.CodeAuthenticationMissing:
		return fmt.Errorf("server ends sessions without the authentication that it requires, SASL or a scheme for Options.Auth: %w", ErrAuthFailed)
	case scheme != "" && code != jute.OK:
		return fmt.Errorf("credential of scheme %q refused: %w", scheme, ErrAuthFailed)
	}
	return nil
}

// final reports whether a server that has failed with err will do so again until
// somebody changes how it is configured, or the client.
func final(err error) bool {
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return false // or not valid yet: a clock is to be set, perhaps
	}
	return errors.Is(err, ErrAuthFailed) || errors.Is(err, errWantsTLS) ||
		errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, new(tls.RecordHeaderError)) || alerted(err)
}

// alerted reports whether a server has sent an alert, as crypto/tls words it, other
// than one that only says that something went wrong there.
func alerted(err error) bool {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return false
	}
	said := op.Err.Error()
	return !strings.HasSuffix(said, "internal error") && !strings.HasSuffix(said, "user canceled")
}

// explained says in words why nothing more could be read from a server, or written to
// it, before it served the session.
func (t *tappedConn) explained(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSilent
	case !hungUp(err):
		return err
	case t.stage > dialled:
		return fmt.Errorf("server granted a session and hung up: %w", err)
	case t.s.c.opts.TLS == nil:
		return fmt.Errorf("server hung up on the handshake: it expects TLS, perhaps, or has no quorum: %w", err)
	}
	return fmt.Errorf("server hung up on the handshake: it has no quorum, perhaps: %w", err)
}

func hungUp(err error) bool {
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// mangled says what a server speaks whose answer begins with head.
func mangled(head []byte) error {
	if head[0] == 0x15 && head[1] == 3 { // a TLS alert, as some servers answer to what is not TLS
		return errWantsTLS
	}
	return fmt.Errorf("%w: frame of %d bytes", errMangled, uint32(head[0])<<24|uint32(head[1])<<16|uint32(head[2])<<8|uint32(head[3]))
}

// A serverError is what is wrong with one server. The deadline of an attempt is the
// client's own, and must not be taken for one of the program's.
type serverError struct {
	addr string
	err  error
}

func (e serverError) Error() string { return e.addr + ": " + e.err.Error() }

// Is is what errors.Is asks.
func (e serverError) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As is what errors.As asks.
func (e serverError) As(target any) bool { return errors.As(e.err, target) }

// serverErrors say of several servers what is wrong with them.
type serverErrors []error

func (e serverErrors) Error() string {
	said := make([]string, len(e))
	for i, err := range e {
		said[i] = err.Error()
	}
	return strings.Join(said, "; ")
}

func (e serverErrors) Unwrap() []error { return e }

// because returns cause, for which a wait ends, with what the servers have said
// that turn the client away at present, if any do.
func (c *Client) because(cause error) error {
	if why := c.servers.refusals(); len(why) > 0 && !errors.As(cause, new(turnedAway)) {
		return turnedAway{cause, why}
	}
	return cause
}

// givenUp returns the same of the cause of ctx's end, which is no answer.
func (c *Client) givenUp(ctx context.Context) error { return c.because(ctxErr(ctx)) }

// A turnedAway is the cause for which a wait has ended while servers turned the
// client away. What they have said is no answer to what was to be asked.
type turnedAway struct {
	cause error
	why   serverErrors
}

func (e turnedAway) Error() string { return fmt.Sprintf("%v (%v)", e.cause, e.why) }

// Unwrap returns both.
func (e turnedAway) Unwrap() []error { return []error{e.cause, e.why} }

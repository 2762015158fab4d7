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

	"github.com/zkcoord/zkcoord/internal/jute"
)

var (
	errPending  = errors.New("no answer yet")
	errLookup   = errors.New("not looked up yet")
	errUntried  = errors.New("not tried")
	errHopeless = errors.New("refused by every server")
	errSilent   = errors.New("server fell silent")
	errMangled  = errors.New("server does not speak the protocol")
	errWantsTLS = errors.New("server speaks TLS: set Options.TLS")
)

// denied returns why a server does not serve the client, if its answer has a code that says
// so. It is the answer to a credential of scheme, unless scheme is empty. Servers hang up
// after such an answer.
func denied(scheme string, code jute.Code) error {
	switch {
	case code == jute.CodeAuthenticationMissing:
		return fmt.Errorf("server ends sessions without the authentication that it requires, Options.SASL or a scheme for Options.Auth: %w", ErrAuthFailed)
	case scheme != "" && code != jute.OK:
		return fmt.Errorf("credential of scheme %q refused: %w", scheme, ErrAuthFailed)
	}
	return nil
}

// final reports whether a server that has failed with err will do so again until somebody
// changes its configuration, or the client's.
func final(err error) bool {
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return false // or not valid yet: a clock is to be set, perhaps
	}
	return errors.Is(err, ErrAuthFailed) || errors.Is(err, errWantsTLS) ||
		errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, new(tls.RecordHeaderError)) || alerted(err)
}

// alerted reports whether a server has sent a TLS alert about the client, and not only
// about something that went wrong in the server. In crypto/tls an alert from the other
// side has no exported type, only this text.
func alerted(err error) bool {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return false
	}
	said := op.Err.Error()
	return !strings.HasSuffix(said, "internal error") && !strings.HasSuffix(said, "user canceled")
}

// explained returns err, which has ended a connection before the server served the session,
// with the likely reason. Servers do not give any: one without a quorum, or one that
// expects TLS, only hangs up.
func (t *tappedConn) explained(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSilent
	case !hungUp(err):
		return err
	case t.stage > dialed:
		return fmt.Errorf("server granted a session and hung up: %w", err)
	case t.s.c.opts.TLS == nil:
		return fmt.Errorf("server hung up on the handshake: it expects TLS, perhaps, or has no quorum: %w", err)
	}
	return fmt.Errorf("server hung up on the handshake: it has no quorum, perhaps: %w", err)
}

// hungUp reports whether err means that the other side has closed the connection.
func hungUp(err error) bool {
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe} {
		if errors.Is(err, e) {
			return true
		}
	}
	var op *net.OpError // a reset, whose error is another on each system
	return errors.As(err, &op) && (op.Op == "read" || op.Op == "write") && !op.Timeout() && !errors.Is(err, net.ErrClosed)
}

// mangled returns the error for an answer that begins with head, which is no length of a
// frame.
func mangled(head []byte) error {
	if head[0] == 0x15 && head[1] == 3 { // a TLS alert: the answer of some servers to what is not TLS
		return errWantsTLS
	}
	return fmt.Errorf("%w: frame of %d bytes", errMangled, uint32(head[0])<<24|uint32(head[1])<<16|uint32(head[2])<<8|uint32(head[3]))
}

// A serverError says what is wrong with one server. The deadline of an attempt to connect
// is the client's own, and must not be taken for the end of the program's ctx.
type serverError struct {
	addr string
	err  error
}

// Error returns the server's address and what is wrong.
func (e serverError) Error() string { return e.addr + ": " + e.err.Error() }

// Is is for errors.Is, which cannot reach err otherwise. It finds all that is in err except
// the ends of contexts.
func (e serverError) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As is for errors.As, which cannot reach err otherwise.
func (e serverError) As(target any) bool { return errors.As(e.err, target) }

// serverErrors say what is wrong with each of several servers.
type serverErrors []error

// Error returns what is wrong with each, in one line.
func (e serverErrors) Error() string {
	said := make([]string, len(e))
	for i, err := range e {
		said[i] = err.Error()
	}
	return strings.Join(said, "; ")
}

// Unwrap returns them one by one.
func (e serverErrors) Unwrap() []error { return e }

// withRefusals returns cause, for which a wait has ended, together with what servers have
// said that refuse the client at present, if there are any: that they do is probably why
// the wait took so long.
func (c *Client) withRefusals(cause error) error {
	if why := c.servers.refusals(); len(why) > 0 && !errors.As(cause, new(turnedAway)) {
		return turnedAway{cause, why}
	}
	return cause
}

// ctxErr returns the error of a wait that has ended because ctx has: ctxCause, with what
// servers say that refuse the client.
func (c *Client) ctxErr(ctx context.Context) error { return c.withRefusals(ctxCause(ctx)) }

// A turnedAway is the error of a wait that has ended for cause while servers refused the
// client. What they have said of the client is no answer to the request that waited, so a
// turnedAway is never Refused.
type turnedAway struct {
	cause error
	why   serverErrors
}

// Error returns the cause, and in parentheses what the servers have said.
func (e turnedAway) Error() string { return fmt.Sprintf("%v (%v)", e.cause, e.why) }

// Unwrap returns both, so that a program can test for the end of its ctx and for the reason
// of the wait.
func (e turnedAway) Unwrap() []error { return []error{e.cause, e.why} }

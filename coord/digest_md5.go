package coord

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// DigestMD5 returns a value for [Options].SASL: the mechanism DIGEST-MD5 (RFC 2831), with
// which ZooKeeper's servers know users and passwords from the section Server of their
// JAAS file. Znodes are opened to the user by the ACL {Scheme: "sasl", ID: user}.
//
// The password is not sent, and the server must prove that it knows it. The rest of the
// connection is not secured; that takes [Options].TLS.
func DigestMD5(user, password string) func(host string) (SASL, error) {
	return func(string) (SASL, error) {
		return &digestMD5{user: user, password: password, cnonce: rand.Text()}, nil
	}
}

// digestURI is the service for which ZooKeeper's servers authenticate, all of them alike.
const digestURI = "zookeeper/zk-sasl-md5"

// A digestMD5 is the client's side of one authentication.
type digestMD5 struct {
	user, password string
	cnonce         string
	steps          int
	// proof is what the server is to answer.
	proof string
}

// String returns the mechanism and the user: the password is not to be printed.
func (m *digestMD5) String() string { return "DIGEST-MD5:" + m.user }

// GoString does the same for the verb %#v.
func (m *digestMD5) GoString() string { return m.String() }

// Complete implements [SASL].
func (m *digestMD5) Complete() bool { return m.steps == 3 }

// Step implements [SASL]. The client begins with nothing, answers a challenge, and checks
// the server's proof.
func (m *digestMD5) Step(_ context.Context, challenge []byte) ([]byte, error) {
	switch m.steps++; m.steps {
	case 1:
		return []byte{}, nil
	case 2:
		return m.respond(challenge)
	}
	got, err := directives(challenge)
	if err != nil || m.proof == "" || subtle.ConstantTimeCompare([]byte(got["rspauth"]), []byte(m.proof)) != 1 {
		return nil, fmt.Errorf("DIGEST-MD5: user %q or its password refused, or the server does not know it: %w", m.user, ErrAuthFailed)
	}
	return nil, nil
}

// respond answers the server's challenge.
func (m *digestMD5) respond(challenge []byte) ([]byte, error) {
	if len(challenge) == 0 {
		return nil, fmt.Errorf("DIGEST-MD5: not offered by the server, which may have no JAAS file: %w", ErrAuthFailed)
	}
	server, err := directives(challenge)
	if err != nil {
		return nil, fmt.Errorf("DIGEST-MD5: challenge of %d bytes: %w", len(challenge), err)
	}
	if server["algorithm"] != "md5-sess" || server["nonce"] == "" {
		return nil, fmt.Errorf("DIGEST-MD5: another mechanism is offered by the server: %w", ErrAuthFailed)
	}
	var response string
	response, m.proof = digest(m.user, m.password, server["realm"], server["nonce"], m.cnonce, digestURI)
	fields := []string{
		"charset=utf-8",
		"username=" + quoted(m.user),
		"realm=" + quoted(server["realm"]),
		"nonce=" + quoted(server["nonce"]),
		"nc=00000001",
		"cnonce=" + quoted(m.cnonce),
		"digest-uri=" + quoted(digestURI),
		"maxbuf=65536",
		"response=" + response,
		"qop=auth",
	}
	return []byte(strings.Join(fields, ",")), nil
}

// digest returns the client's response and the server's proof: see section 2.1.2.1 of the
// RFC.
func digest(user, password, realm, nonce, cnonce, uri string) (response, proof string) {
	h := func(s string) string { sum := md5.Sum([]byte(s)); return string(sum[:]) }
	hexed := func(s string) string { return hex.EncodeToString([]byte(h(s))) }
	secret := h(latin(user) + ":" + latin(realm) + ":" + latin(password))
	a1 := hexed(secret + ":" + nonce + ":" + cnonce)
	sum := func(a2 string) string {
		return hexed(a1 + ":" + nonce + ":00000001:" + cnonce + ":auth:" + hexed(a2))
	}
	return sum("AUTHENTICATE:" + uri), sum(":" + uri)
}

// latin returns s in ISO 8859-1, as the RFC has it where that is possible, and otherwise as
// it is.
func latin(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return s
		}
		b = append(b, byte(r))
	}
	return string(b)
}

// quoted returns s as a quoted string.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

var errDirectives = errors.New("malformed")

// directives returns the directives of a challenge, such as realm="a",nonce="b",qop=auth. Of
// several with one name the first counts: servers may offer several realms.
func directives(challenge []byte) (map[string]string, error) {
	all := make(map[string]string)
	for s := string(challenge); ; {
		s = strings.TrimLeft(s, ", \t\r\n")
		if s == "" {
			return all, nil
		}
		name, rest, ok := strings.Cut(s, "=")
		if !ok || strings.ContainsAny(name, `," `) {
			return nil, errDirectives
		}
		var value string
		if value, s, ok = directive(rest); !ok {
			return nil, errDirectives
		}
		if _, again := all[name]; !again {
			all[name] = value
		}
	}
}

// directive takes a value, quoted or not, from the begin of s.
func directive(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ",")
		return strings.TrimSpace(value), rest, true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

package coord

import (
	"fmt"
	"strings"
	"testing"
)

// The example of section 4 of RFC 2831.
func TestDigestOfTheRFC(t *testing.T) {
	response, proof := digest("chris", "secret", "elwood.innosoft.com", "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk", "imap/elwood.innosoft.com")
	if response != "d388dad90d4bbd760a152321f2143af7" || proof != "ea40f60335c427b5527b84dbabcdfffd" {
		t.Errorf("response %s, proof %s", response, proof)
	}
}

// Directives are taken as the RFC writes them: quoted or not, with escapes, in any order.
func TestDirectives(t *testing.T) {
	got, err := directives([]byte(`realm="a\"b,c=d", realm="other",qop="auth,auth-int" ,,nonce=x , charset=utf-8,empty=""`))
	if want := `map[charset:utf-8 empty: nonce:x qop:auth,auth-int realm:a"b,c=d]`; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
	for _, s := range []string{"realm", `realm="`, `realm="a\`, "a,b=c"} {
		if got, err := directives([]byte(s)); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
	if s := latin("Zoë") + latin("Ζωή"); s != "Zo\xebΖωή" {
		t.Errorf("%q", s)
	}
}

// A password is in nothing that is printed.
func TestDigestMD5PrintsNoPassword(t *testing.T) {
	m, _ := DigestMD5("bob", "sesame")("host")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, m); !strings.Contains(s, "bob") || strings.Contains(s, "sesame") {
			t.Errorf("%s: %s", verb, s)
		}
	}
}

// Whatever a server offers, the answer is one that says no more than it should, or an
// error.
func FuzzDigestMD5(f *testing.F) {
	f.Add([]byte(`realm="zk-sasl-md5",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess`), []byte("rspauth=0"))
	f.Add([]byte(""), []byte(""))
	f.Fuzz(func(t *testing.T, offer, proof []byte) {
		m, _ := DigestMD5("bob", "sesame")("host")
		if first, err := m.Step(t.Context(), nil); len(first) > 0 || err != nil {
			t.Fatalf("%q, %v", first, err)
		}
		response, err := m.Step(t.Context(), offer)
		if strings.Contains(string(response)+fmt.Sprint(err), "sesame") && !strings.Contains(string(offer), "sesame") {
			t.Errorf("%q, %v", response, err)
		}
		if _, err := m.Step(t.Context(), proof); err == nil {
			t.Errorf("proven by %q after %q", proof, offer)
		}
	})
}

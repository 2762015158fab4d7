package coord_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/zkcoord/zkcoord/coord"
)

// However an Auth is printed, and in whatever it is contained, the credential is not.
func TestCredentialIsNotPrinted(t *testing.T) {
	auth := coord.Auth{Scheme: "digest", Credential: []byte(secret)}
	none := (*coord.Auth)(nil)
	things := map[string]any{
		"value":    auth,
		"pointer":  &auth,
		"nil":      none,
		"slice":    []coord.Auth{auth},
		"pointers": []*coord.Auth{&auth},
		"array":    [1]coord.Auth{auth},
		"map":      map[string]coord.Auth{"a": auth},
		"struct":   struct{ A coord.Auth }{auth},
		"embedded": struct{ *coord.Auth }{&auth},
		"any":      []any{auth},
		"options":  coord.Options{Auth: []coord.Auth{auth}},
		"pointer to options": &coord.Options{
			Auth: []coord.Auth{auth},
		},
	}
	// As text, as numbers in every base, and as what encoding/json makes of bytes.
	numbers := func(verb string) string { return strings.Trim(fmt.Sprintf(verb, []byte(secret)), "[]") }
	tells := []string{
		secret, numbers("%d"), numbers("%x"), numbers("%X"), numbers("% x"), numbers("%o"), numbers("%b"),
		numbers("%#v"), numbers("%U"), numbers("%c"), base64.StdEncoding.EncodeToString([]byte(secret)),
	}
	check := func(how, text string) {
		t.Helper()
		for _, tell := range tells {
			if strings.Contains(text, tell) {
				t.Errorf("%s: %s", how, text)
				return
			}
		}
	}
	for name, thing := range things {
		for verb := rune('!'); verb <= '~'; verb++ {
			if verb == 'p' || verb == 'w' || strings.ContainsRune("#+-. *[0123456789", verb) {
				continue // see String, and flags
			}
			for _, flags := range []string{"", "+", "#", "-", " ", "0", "# ", "20.3", "-40"} {
				format := "%" + flags + string(verb)
				check(name+" with "+format, fmt.Sprintf(format, thing))
			}
		}
		check(name+" by Sprint", fmt.Sprint(thing))
		check(name+" in an error", fmt.Errorf("bad: %v", thing).Error())
		text, err := json.Marshal(thing)
		check(name+" as json", fmt.Sprintf("%s %v", text, err))
		var log bytes.Buffer
		all := &slog.HandlerOptions{Level: slog.LevelDebug}
		for _, h := range []slog.Handler{slog.NewJSONHandler(&log, all), slog.NewTextHandler(&log, all)} {
			l := slog.New(h)
			l.Info("logged", "auth", thing, slog.Group("group", "auth", thing))
			l.With("auth", thing).Debug(fmt.Sprint("logged ", thing))
		}
		check(name+" logged", log.String())
	}
	text, err := xml.Marshal(auth)
	check("xml", fmt.Sprintf("%s %v", text, err))
	// What is left says what it is, and whose.
	for how, text := range map[string]string{
		"%v": fmt.Sprintf("%v", auth), "%s": fmt.Sprintf("%s", &auth), "%q": fmt.Sprintf("%q", auth), "%d": fmt.Sprintf("%d", auth),
	} {
		if !strings.Contains(text, "digest:(credential)") {
			t.Errorf("%s: %s", how, text)
		}
	}
	if text, err := json.Marshal([]coord.Auth{auth}); err != nil || string(text) != `["digest:(credential)"]` {
		t.Errorf("json: %s, %v", text, err)
	}
}

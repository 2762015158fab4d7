package coordtest

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/jute"
)

// An identity is one that a connection has proved.
type identity struct{ scheme, id string }

// local is what every connection has proved: it comes from this machine.
var local = identity{"ip", "127.0.0.1"}

// authenticate returns the identity that a credential proves.
func authenticate(scheme string, credential []byte) (identity, bool) {
	switch scheme {
	case "ip":
		return local, true
	case "digest":
		user, _, _ := strings.Cut(string(credential), ":")
		sum := sha1.Sum(credential)
		return identity{"digest", user + ":" + base64.StdEncoding.EncodeToString(sum[:])}, credential != nil
	}
	return identity{}, false
}

// resolve turns the ACL of a request into what is stored: without duplicates,
// and with "auth" replaced by the identities of the client that asks.
func resolve(acl []zk.ACL, ids []identity) ([]zk.ACL, jute.Code) {
	var stored []zk.ACL
	add := func(a zk.ACL) {
		stored = append(stored, a)
	}
	for i, a := range acl {
		if slices.Contains(acl[:i], a) {
			continue
		}
		switch {
		case a.Scheme == "world" && a.ID == "anyone":
			add(a)
		case a.Scheme == "auth":
			n := len(stored)
			for _, id := range ids {
				if id.scheme == "digest" { // an address identifies, but does not authenticate
					add(zk.ACL{Perms: a.Perms, Scheme: id.scheme, ID: id.id})
				}
			}
			if len(stored) == n {
				return nil, jute.CodeInvalidACL
			}
		case a.Scheme == "digest" && strings.Count(strings.TrimRight(a.ID, ":"), ":") == 1:
			add(a)
		case a.Scheme == "ip" && network(a.ID).IsValid():
			add(a)
		default:
			return nil, jute.CodeInvalidACL
		}
	}
	if len(stored) == 0 {
		return nil, jute.CodeInvalidACL
	}
	return stored, jute.OK
}

// permits reports whether acl gives one of the identities any of perms.
func permits(acl []zk.ACL, ids []identity, perms int32) bool {
	return slices.ContainsFunc(acl, func(a zk.ACL) bool {
		if a.Perms&perms == 0 {
			return false
		}
		return a.Scheme == "world" || slices.ContainsFunc(ids, func(id identity) bool {
			if id.scheme != a.Scheme {
				return false
			}
			if id.scheme == "ip" {
				return network(a.ID).Contains(netip.MustParseAddr(id.id))
			}
			return id.id == a.ID
		})
	})
}

// redact hides password digests from a client that may not change the ACL.
func redact(acl []zk.ACL) []zk.ACL {
	acl = slices.Clone(acl)
	for i, a := range acl {
		if user, _, found := strings.Cut(a.ID, ":"); found && a.Scheme == "digest" {
			acl[i].ID = user + ":x"
		}
	}
	return acl
}

// network parses an address or a block of addresses; it is invalid for anything else.
func network(s string) netip.Prefix {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen())
	}
	return netip.Prefix{}
}

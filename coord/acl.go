package coord

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A Stat is the bookkeeping that the ensemble keeps of a znode.
type Stat = event.Stat

// What an [ACL] permits. A znode's own access list does not say who may delete the znode:
// that takes PermDelete on its parent.
const (
	PermRead   = 1 << iota // to read its data, and to list its children
	PermWrite              // to set its data
	PermCreate             // to create children
	PermDelete             // to delete children
	PermAdmin              // to set its access list
	PermAll    = PermRead | PermWrite | PermCreate | PermDelete | PermAdmin
)

// An ACL is one entry of a znode's access list: what someone is permitted to do.
//
// The scheme "world" with the ID "anyone" is everybody; "auth", with no ID, is every
// client that presents one of this client's credentials, see [Options]; "digest" is a
// user, see [Auth.ACL]; "ip" is an address or a network.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// ACL returns the entry that permits perms to clients that present a, which must be of
// the scheme "digest", with a credential "user:password". The entry has a hash in place of
// the password. For any other a it has no scheme, and an ID that says why: [Dial] refuses
// such an entry with those words, and servers with [ErrInvalidACL], so that it protects
// nothing by mistake.
func (a Auth) ACL(perms int32) ACL {
	user, _, found := bytes.Cut(a.Credential, []byte(":"))
	switch {
	case a.Scheme != "digest":
		return ACL{perms, "", fmt.Sprintf("Auth.ACL knows the scheme \"digest\" and not %q", a.Scheme)}
	case !found:
		return ACL{perms, "", "the credential of an Auth is not user:password"}
	}
	sum := sha1.Sum(a.Credential) // as ZooKeeper does it
	return ACL{perms, a.Scheme, string(user) + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// zkACL converts acl to go-zookeeper's type.
func zkACL(acl []ACL) []zk.ACL {
	list := make([]zk.ACL, len(acl))
	for i, a := range acl {
		list[i] = zk.ACL(a)
	}
	return list
}

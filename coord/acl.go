package coord

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/event"
)

// A Stat is the bookkeeping that the ensemble keeps of a znode.
type Stat = event.Stat

// What an [ACL] permits. A znode's own access list does not say who may delete it:
// that takes PermDelete on the znode above.
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
// The scheme "world" with the ID "anyone" is everybody; "auth", with no ID, whoever
// presents the credentials that the client presents, see [Options]; "digest" is a
// user, see [Auth.ACL]; "ip" an address or a network.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// ACL returns the entry that permits perms to whoever presents a, which must be of the
// scheme "digest". Instead of the password it has a hash.
func (a Auth) ACL(perms int32) ACL {
	user, _, _ := bytes.Cut(a.Credential, []byte(":"))
	sum := sha1.Sum(a.Credential) // as ZooKeeper does it
	return ACL{perms, a.Scheme, string(user) + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// zkACL returns acl as go-zookeeper wants it.
func zkACL(acl []ACL) []zk.ACL {
	list := make([]zk.ACL, len(acl))
	for i, a := range acl {
		list[i] = zk.ACL(a)
	}
	return list
}

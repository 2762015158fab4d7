package coord

import (
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
// user, see [DigestACL]; "ip" an address or a network.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// DigestACL returns an entry for the user who presents the credential
// "user:password" of the scheme "digest". The ensemble keeps a hash of it.
func DigestACL(perms int32, user, password string) ACL {
	sum := sha1.Sum([]byte(user + ":" + password)) // as ZooKeeper does it
	return ACL{perms, "digest", user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// zkACL returns acl as go-zookeeper wants it.
func zkACL(acl []ACL) []zk.ACL {
	list := make([]zk.ACL, len(acl))
	for i, a := range acl {
		list[i] = zk.ACL(a)
	}
	return list
}

package coord

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// maxRequest is the most bytes that a server takes as one request, unless its
// jute.maxbuffer says otherwise. Its answer to more is to hang up.
const maxRequest = 1<<20 - 1

// maxAuth is the most bytes that a scheme and its credential may have together.
const maxAuth = maxRequest - (4 + 4 + 4 + 4 + 4)

// CheckSize reports why a request of all these ops, as [Transact] takes them, or of
// the only one, is more than a server takes. The error is [Refused]. It is for those
// who write recipes: who sends such a request is hung up on without a word, with all
// else that the client has under way, and would send it again.
func CheckSize(ops ...any) error {
	size, data, acls := 4+4+opHeader, 0, 0 // xid, kind, and the header that ends the ops
	most, where := 0, ""
	for _, op := range ops {
		var path string
		var d, a int
		switch op := op.(type) {
		case *zk.CreateRequest:
			path, d, a = op.Path, len(op.Data), aclSize(op.Acl)
			size += 4 + 4 // the length of the data, and flags
		case *zk.SetDataRequest:
			path, d = op.Path, len(op.Data)
			size += 4 + 4 // the length of the data, and the version
		case *zk.DeleteRequest:
			path = op.Path
			size += 4
		case *zk.CheckVersionRequest:
			path = op.Path
			size += 4
		default:
			return refusal{fmt.Errorf("coord: a %T cannot be in a transaction", op)}
		}
		size += opHeader + 4 + len(path) + d + a
		data += d
		acls += a
		if n := len(path) + d + a; n > most {
			most, where = n, path
		}
	}
	if size <= maxRequest {
		return nil
	}
	more := ""
	if len(ops) > 1 {
		more = fmt.Sprintf(" and %d more", len(ops)-1)
	}
	return refusal{fmt.Errorf("coord: a request of %d bytes for %.64q%s, with %d of data and %d of access lists: servers take %d",
		size, where, more, data, acls, maxRequest)}
}

// opHeader is the size of what stands before each op of a transaction, and behind
// the last: kind, end, error.
const opHeader = 4 + 1 + 4

// aclSize is the size of an access list in a request.
func aclSize(acl []zk.ACL) int {
	n := 4
	for _, a := range acl {
		n += 4 + 4 + len(a.Scheme) + 4 + len(a.ID)
	}
	return n
}

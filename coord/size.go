package coord

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// maxRequest is the most bytes that a server takes as one request, unless its
// jute.maxbuffer says otherwise. If a request has more, the server hangs up.
const maxRequest = 1<<20 - 1

// maxAuth is the most bytes that a scheme and its credential may have together, beside the
// header of the request and the lengths of the two.
const maxAuth = maxRequest - (4 + 4 + 4 + 4 + 4)

// checkMulti returns an error, which is [Session.Refused], if a transaction of these
// requests is more than a server takes. If it were sent, the server would hang up
// without a word, and all else that the client has under way would fail with it; and a
// request that is repeated until it is answered would do that again and again.
func checkMulti(requests ...any) error {
	size := 4 + 4 + opHeader // xid, kind, and the header that ends the ops
	for _, r := range requests {
		path, data, acl, rest := measure(r)
		size += opHeader + len(path) + data + acl + rest
	}
	return checkSize(size, requests)
}

// checkRequest does the same for a request that is made by itself.
func checkRequest(r any) error {
	path, data, acl, rest := measure(r)
	return checkSize(4+4+len(path)+data+acl+rest, []any{r})
}

// checkSize returns the error, if size is too much. It names the largest request, and says
// how much of all is data and how much access lists: a program that uses a recipe knows
// only a part of what the recipe sends.
func checkSize(size int, requests []any) error {
	if size <= maxRequest {
		return nil
	}
	allData, allACL, most, where := 0, 0, 0, ""
	for _, r := range requests {
		path, data, acl, _ := measure(r)
		allData += data
		allACL += acl
		if n := len(path) + data + acl; n > most {
			most, where = n, path
		}
	}
	more := ""
	if len(requests) > 1 {
		more = fmt.Sprintf(" and %d more", len(requests)-1)
	}
	return fmt.Errorf("%w: %d bytes for %.64q%s, with %d of data and %d of access lists: servers take %d",
		ErrTooLarge, size, where, more, allData, allACL, maxRequest)
}

// measure returns the path of a request and the sizes of its other parts. The sizes are
// computed, as the encoding is go-zookeeper's and done only when the request is sent.
func measure(request any) (path string, data, acl, rest int) {
	switch r := request.(type) {
	case *zk.CreateTTLRequest:
		if r.Ttl != 0 {
			rest = 8
		}
		return r.Path, len(r.Data), aclSize(r.Acl), 4 + 4 + 4 + rest // the lengths of path and data, and flags
	case *zk.CreateRequest:
		return r.Path, len(r.Data), aclSize(r.Acl), 4 + 4 + 4
	case *zk.SetDataRequest:
		return r.Path, len(r.Data), 0, 4 + 4 + 4 // the lengths, and the version
	case *zk.DeleteRequest:
		return r.Path, 0, 0, 4 + 4
	case *zk.CheckVersionRequest:
		return r.Path, 0, 0, 4 + 4
	}
	panic(fmt.Sprintf("coord: a request of type %T", request))
}

// opHeader is the size of the header before each op of a transaction and after the last:
// the kind, whether it is the end, an error code.
const opHeader = 4 + 1 + 4

// aclSize is the size of an access list in a request.
func aclSize(acl []zk.ACL) int {
	n := 4
	for _, a := range acl {
		n += 4 + 4 + len(a.Scheme) + 4 + len(a.ID)
	}
	return n
}

package coord

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A Mode says how long a znode lives, and whether the ensemble completes its name. Only
// Ephemeral and Sequential can be combined.
type Mode int64

const (
	Persistent Mode = 0         // it lives until it is deleted
	Ephemeral  Mode = 1 << iota // it is deleted when the session that created it ends; it has no children
	Sequential                  // the ensemble appends a number of ten digits to its name, greater than any before
	Container                   // it is deleted some time after its last child was
)

// TTL returns m, which is Persistent or Sequential, for a znode that the ensemble deletes
// when it has had no children, and its data have not been set, for the time d. The time
// is rounded up to milliseconds. Servers refuse such a znode, with [ErrUnimplemented],
// unless they are configured to allow it.
func (m Mode) TTL(d time.Duration) Mode {
	ms := d / time.Millisecond
	if d%time.Millisecond > 0 {
		ms++
	}
	if d <= 0 || ms > maxTTL {
		return badTTL
	}
	return m&(1<<ttlShift-1) | Mode(ms)<<ttlShift
}

const (
	ttlShift      = 8         // a TTL in milliseconds is in the bits above the flags
	maxTTL        = 1<<40 - 1 // as servers have room for: some 34 years
	badTTL   Mode = -1        // kept, so that the error comes with the request
)

// String returns the names of m's flags.
func (m Mode) String() string {
	var names []string
	if m == badTTL {
		return "invalid TTL"
	}
	if ttl := m >> ttlShift; ttl != 0 {
		names = append(names, fmt.Sprintf("TTL(%v)", time.Duration(ttl)*time.Millisecond))
	}
	for _, f := range []struct {
		flag Mode
		name string
	}{{Container, "container"}, {Ephemeral, "ephemeral"}, {Sequential, "sequential"}} {
		if m&f.flag != 0 {
			names = append(names, f.name)
		}
	}
	if rest := m & (1<<ttlShift - 1) &^ (Container | Ephemeral | Sequential); rest != 0 {
		names = append(names, fmt.Sprintf("%#x", int64(rest)))
	}
	if names == nil {
		return "persistent"
	}
	return strings.Join(names, "|")
}

// parse returns m in the protocol's terms, in which each combination of flags has a number
// of its own.
func (m Mode) parse() (flags int32, ttl time.Duration, err error) {
	ttl = time.Duration(m>>ttlShift) * time.Millisecond
	switch m & (1<<ttlShift - 1) {
	case Persistent:
		flags = zk.FlagPersistent
		if ttl > 0 {
			flags = zk.FlagTTL
		}
		return flags, ttl, nil
	case Sequential:
		flags = zk.FlagSequence
		if ttl > 0 {
			flags = zk.FlagPersistentSequentialWithTTL
		}
		return flags, ttl, nil
	case Ephemeral:
		flags = zk.FlagEphemeral
	case Ephemeral | Sequential:
		flags = zk.FlagEphemeralSequential
	case Container:
		flags = zk.FlagContainer
	default:
		ttl = -1
	}
	if ttl != 0 {
		return 0, 0, &refusal{fmt.Sprintf("coord: invalid mode: %v", m), zk.ErrInvalidFlags}
	}
	return flags, 0, nil
}

// An Op is one part of a transaction: see [Client.Txn]. It is made by [OpCreate], [OpSet],
// [OpDelete], [OpCheck] or [Hold.Guard]; the zero Op is refused.
type Op struct {
	verb    verb
	path    string // below the chroot, unless full is set
	full    bool   // of a guard: the chroot is that of the Hold's client, not of the one that uses it
	hold    string // of a guard, the path of the Hold; "" otherwise
	also    []Op   // of a guard that checks several znodes, the checks of the others
	data    []byte
	mode    Mode
	acl     []ACL // nil: that of the client
	version int32
}

type verb uint8

const (
	toCreate verb = iota + 1
	toSet
	toDelete
	toCheck
)

// OpCreate creates the znode at path, as [Client.Create] does. In a transaction the znode
// can neither be a container nor have a TTL.
func OpCreate(path string, data []byte, mode Mode, acl ...ACL) Op {
	return Op{verb: toCreate, path: path, data: bytes.Clone(data), mode: mode, acl: acl}
}

// OpSet sets the data of the znode at path, as [Client.Set] does.
func OpSet(path string, data []byte, version int32) Op {
	return Op{verb: toSet, path: path, data: bytes.Clone(data), version: version}
}

// OpDelete deletes the znode at path, as [Client.Delete] does.
func OpDelete(path string, version int32) Op {
	return Op{verb: toDelete, path: path, version: version}
}

// OpCheck makes the transaction depend on a znode at path that has the version, -1 for
// any.
func OpCheck(path string, version int32) Op {
	return Op{verb: toCheck, path: path, version: version}
}

// IsCheck reports whether o changes nothing and is only a condition: whether it was made by
// [OpCheck] or [Hold.Guard].
func (o Op) IsCheck() bool { return o.verb == toCheck }

// below returns o's path as the program knows it, below the chroot.
func (o Op) below(c *Client) string {
	if o.full {
		return c.relative(o.path)
	}
	return o.path
}

// String returns what o does, and to which path. Of a Guard that is the path of its Hold, or
// the paths.
func (o Op) String() string {
	what := [...]string{"invalid", "create", "set", "delete", "check"}[o.verb] + " " + o.at()
	for _, other := range o.also {
		what += ", " + other.at()
	}
	return what
}

// at returns the path that errors about o have: of a guard, that of its Hold, as the program
// knows it.
func (o Op) at() string { return cmp.Or(o.hold, o.path) }

// An OpResult is the result of one [Op].
type OpResult struct {
	Path string // of the znode that was created, with its number if it is sequential
	Stat Stat   // of the znode whose data were set
	Err  error  // why this op was refused, and so the transaction; nil for all other ops
}

// request returns o as go-zookeeper's request, or what is wrong with it. It is called
// before anything is sent: an error that go-zookeeper found would say too little.
func (o Op) request(c *Client) (any, error) {
	if o.verb == 0 {
		return nil, &refusal{"coord: an Op that was not made by a function of this package", zk.ErrBadArguments}
	}
	full, err := o.path, error(nil)
	if !o.full {
		if full, err = c.target(o.path, o.mode); err != nil {
			return nil, err
		}
	}
	switch o.verb {
	case toCreate:
		flags, ttl, err := o.mode.parse()
		if err != nil {
			return nil, err
		}
		if ttl > 0 || flags == zk.FlagContainer {
			return nil, &refusal{fmt.Sprintf("coord: mode %v in a transaction", o.mode), zk.ErrInvalidFlags}
		}
		return &zk.CreateRequest{Path: full, Data: o.data, Acl: c.aclOr(o.acl), Flags: flags}, nil
	case toSet:
		return &zk.SetDataRequest{Path: full, Data: o.data, Version: o.version}, nil
	case toDelete:
		return &zk.DeleteRequest{Path: full, Version: o.version}, nil
	}
	return &zk.CheckVersionRequest{Path: full, Version: o.version}, nil
}

// sequential reports whether a number is appended to the name.
func (m Mode) sequential() bool { return m > 0 && m&Sequential != 0 }

// target returns the full path of what is written to at path, or why path is invalid. If a
// number will be appended, path may end with a slash: the number is then the whole name.
func (c *Client) target(path string, mode Mode) (full string, err error) {
	if !mode.sequential() || !strings.HasSuffix(path, "/") {
		return zkpath.Full(c.opts.Chroot, path), zkpath.Check(path)
	}
	// In the root of a chroot path is "/", and full must end with a slash as well.
	return strings.TrimSuffix(zkpath.Full(c.opts.Chroot, path), "/") + "/", zkpath.Check(path + "0")
}

// aclOr returns acl or, if that is empty, the client's.
func (c *Client) aclOr(acl []ACL) []zk.ACL {
	if len(acl) == 0 {
		return c.acl
	}
	return zkACL(acl)
}

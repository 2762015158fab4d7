package coordtest_test

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"

	"github.com/go-zookeeper/zk"
)

func scriptACL(w *world) {
	a, b := w.connect("a", long), w.connect("b", long)
	try := func(what string, err error) { w.printf("%s: %v", what, err) }
	acl := func(p *peer, path string) {
		list, stat, err := p.GetACL(path)
		if err != nil {
			stat = nil
		}
		w.printf("acl of %s for %s: %v %s %v", path, p.name, list, w.stat(stat), err)
	}
	creating := func(p *peer, path string, acl ...zk.ACL) {
		_, err := p.Create(path, nil, 0, acl)
		w.printf("create %s by %s with %v: %v", path, p.name, acl, err)
	}
	r := w.root
	creating(a, r+"/none")
	creating(a, r+"/auth", zk.ACL{Perms: zk.PermAll, Scheme: "auth"})
	creating(a, r+"/scheme", zk.ACL{Perms: zk.PermAll, Scheme: "nosuch", ID: "x"})
	creating(a, r+"/world", zk.ACL{Perms: zk.PermAll, Scheme: "world", ID: "x"})
	creating(a, r+"/digest", zk.ACL{Perms: zk.PermAll, Scheme: "digest", ID: "nocolon"})
	creating(a, r+"/digest", zk.ACL{Perms: zk.PermAll, Scheme: "digest", ID: "a:b:c"})
	creating(a, r+"/digest", zk.ACL{Perms: zk.PermAll, Scheme: "digest", ID: ":x"})
	creating(a, r+"/digest2", zk.ACL{Perms: zk.PermAll, Scheme: "digest", ID: "x:"})
	creating(a, r+"/ip", zk.ACL{Perms: zk.PermAll, Scheme: "ip", ID: "127.0.0.1"})
	creating(a, r+"/net", zk.ACL{Perms: zk.PermAll, Scheme: "ip", ID: "127.0.0.0/8"})
	creating(a, r+"/otherip", zk.ACL{Perms: zk.PermAll, Scheme: "ip", ID: "10.0.0.1"})
	creating(a, r+"/badip", zk.ACL{Perms: zk.PermAll, Scheme: "ip", ID: "example"})
	creating(a, r+"/missing/x", zk.ACL{Perms: zk.PermAll, Scheme: "auth"})
	creating(a, r+"/twice", open[0], open[0], digest("u", "p"))
	for _, n := range []string{"/ip", "/net", "/otherip", "/twice"} {
		acl(a, r+n)
		_, _, err := a.Get(r + n)
		try("get "+n, err)
	}
	try("auth", a.AddAuth("digest", []byte("user:secret")))
	creating(a, r+"/mine", zk.ACL{Perms: zk.PermAll, Scheme: "auth"})
	creating(a, r+"/mine/open", open...)
	creating(b, r+"/mine/b", open...)
	acl(a, r+"/mine")
	acl(b, r+"/mine")
	all := func(p *peer, path string) {
		_, _, err := p.Get(path)
		try(p.name+" get "+path, err)
		_, _, err = p.Children(path)
		try(p.name+" children "+path, err)
		_, _, err = p.Exists(path)
		try(p.name+" exists "+path, err)
		_, err = p.Set(path, nil, 99)
		try(p.name+" set "+path, err)
		_, err = p.SetACL(path, open, 99)
		try(p.name+" setACL "+path, err)
		try(p.name+" delete below "+path, p.Delete(path+"/x", -1))
		try(p.name+" create below "+path, p.create(path+"/open", nil, 0))
		_, err = p.Multi(&zk.CheckVersionRequest{Path: path, Version: 99})
		try(p.name+" check "+path, err)
		acl(p, path)
	}
	all(b, r+"/mine")
	all(a, r+"/mine")
	try("b's auth", b.AddAuth("digest", []byte("user:wrong")))
	_, _, err := b.Get(r + "/mine")
	try("b with a wrong password", err)
	try("b's auth", b.AddAuth("digest", []byte("user:secret")))
	_, _, err = b.Get(r + "/mine")
	try("b with the right one", err)
	creating(b, r+"/both", zk.ACL{Perms: zk.PermRead, Scheme: "auth", ID: "ignored"}, zk.ACL{Perms: zk.PermWrite, Scheme: "auth"})
	acl(b, r+"/both")
	for perms := range int32(zk.PermAll + 1) {
		n := fmt.Sprint(r, "/perms", perms)
		creating(b, n, zk.ACL{Perms: perms, Scheme: "world", ID: "anyone"})
		all(b, n)
		try("delete", b.Delete(n+"/open", -1))
		try("delete", b.Delete(n, -1))
	}
	_, err = a.SetACL(r+"/mine", nil, -1)
	try("set no acl", err)
	stat, err := a.SetACL(r+"/mine", zk.WorldACL(zk.PermRead), 0)
	w.printf("setACL: %s %v", w.stat(stat), err)
	acl(a, r+"/mine")
	_, err = a.SetACL(r+"/none", open, -1)
	try("setACL of none", err)
	acl(a, r+"/none")
	for _, path := range []string{"/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"} {
		list, _, err := a.GetACL(path)
		w.printf("acl of %s: %v %v", path, list, err)
	}
}

func digest(user, password string) zk.ACL {
	sum := sha1.Sum([]byte(user + ":" + password))
	return zk.ACL{Perms: zk.PermAll, Scheme: "digest", ID: user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

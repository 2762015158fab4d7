package coordtest_test

import (
	"fmt"
	"log"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkcoord/zkcoord/coord/coordtest"
)

// A program that is not a test starts a server of its own, too.
func Example() {
	s, err := coordtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	conn, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/config", []byte("v1"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		log.Fatal(err)
	}
	fmt.Print(s.Tree())
	// Output: /config "v1"
}

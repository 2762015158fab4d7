package coord

import (
	"slices"
	"testing"
)

// The list of servers in an ensemble's configuration is that of the addresses for clients.
func TestEnsembleServers(t *testing.T) {
	for _, tt := range []struct {
		config string
		want   []string
	}{
		{"", nil},
		{"version=0\n", nil},
		{"server.1=zk1:2888:3888:participant;0.0.0.0:2181\nserver.2=zk2:2888:3888:observer;10.0.0.2:2182\nversion=100000003", []string{"zk1:2181", "10.0.0.2:2182"}},
		{"server.1=zk1:2888:3888:participant;2181", []string{"zk1:2181"}},
		{"server.1=zk1:2888:3888|zk1b:2888:3888:participant;[::]:2181", []string{"zk1:2181"}},
		{"server.1=[2001:db8::1]:2888:3888:participant;[0:0:0:0:0:0:0:0]:2181", []string{"[2001:db8::1]:2181"}},
		{"server.1=[2001:db8::1]:2888:3888:participant;[2001:db8::9]:2181", []string{"[2001:db8::9]:2181"}},
		{"server.1=zk1:2888:3888:participant\nserver.2=zk2:2888:3888:participant;2181\n", []string{"zk2:2181"}}, // 1 is not for clients
		{"server.1=zk1:2888:3888:participant;99999\nserver.2=;2181\nclientPort=2181\nserver.3", nil},
	} {
		if got := ensembleServers([]byte(tt.config)); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.config, got, tt.want)
		}
	}
}

// Whatever an ensemble says, what a client takes for servers can be dialed.
func FuzzEnsembleServers(f *testing.F) {
	f.Add([]byte("server.1=zk1:2888:3888:participant;0.0.0.0:2181\nversion=1"))
	f.Add([]byte("server.2=[::1]:1:2|[::2]:3:4;[::]:2181"))
	f.Fuzz(func(t *testing.T, config []byte) {
		names := ensembleServers(config)
		again, err := addresses(names)
		if len(names) > 0 && (err != nil || !slices.Equal(again, names)) {
			t.Errorf("%q: %q, %v", names, again, err)
		}
	})
}

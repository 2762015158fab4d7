package ensemble

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A seat is where a server listens.
type seat struct {
	host                             string
	client, quorum, election, secure int // ports
}

// forClients returns what the line of the server says to clients, if it is to.
func (s seat) forClients(opts *Options) string {
	if opts == nil || !opts.Reconfigurable {
		return ""
	}
	return fmt.Sprintf(":participant;%s:%d", s.host, s.client)
}

// seats chooses where the servers listen.
func (e *Ensemble) seats(opts *Options) ([]seat, error) {
	seats := make([]seat, opts.nodes())
	if opts.namespaces() {
		var err error
		if e.net, err = newNetwork(len(seats), opts.Clients); err != nil {
			return nil, err
		}
		for i := range seats {
			seats[i] = seat{e.net.host(i), 2181, 2888, 3888, 2281}
		}
		return seats, nil
	}
	ports, err := freePorts(4 * len(seats))
	if err != nil {
		return nil, err
	}
	for i := range seats {
		seats[i] = seat{"127.0.0.1", ports[4*i], ports[4*i+1], ports[4*i+2], ports[4*i+3]}
	}
	return seats, nil
}

// configure makes the nodes and writes their files.
func (e *Ensemble) configure(inst installation, opts *Options) error {
	seats, err := e.seats(opts)
	if err != nil {
		return err
	}
	if opts != nil && opts.Relays {
		if err := e.relay(seats); err != nil {
			return err
		}
	}
	for i, own := range seats {
		n := &Node{
			addr: net.JoinHostPort(own.host, strconv.Itoa(own.client)),
			dir:  filepath.Join(e.dir, strconv.Itoa(i+1)),
		}
		if opts != nil && opts.Logs != "" {
			n.logs = filepath.Join(opts.Logs, fmt.Sprintf("server-%d", i+1))
		}
		e.nodes = append(e.nodes, n)
		config := map[string]string{
			"tickTime":          strconv.FormatInt(opts.tick().Milliseconds(), 10),
			"initLimit":         "10",
			"syncLimit":         "5",
			"dataDir":           n.dir,
			"clientPort":        strconv.Itoa(own.client),
			"clientPortAddress": own.host,
			"maxClientCnxns":    "0",

			"admin.enableServer":     "false",
			"4lw.commands.whitelist": "*",
		}
		if opts != nil && opts.Secure {
			n.secure = net.JoinHostPort(own.host, strconv.Itoa(own.secure))
			config["secureClientPort"] = strconv.Itoa(own.secure)
			config["secureClientPortAddress"] = own.host
		}
		if opts != nil && opts.Reconfigurable {
			config["reconfigEnabled"] = "true"
		}
		if len(seats) > 1 {
			for j, s := range seats {
				quorum := s.quorum
				if e.relays != nil && i != j {
					quorum = e.relays[i][j].port()
				}
				config[fmt.Sprintf("server.%d", j+1)] = fmt.Sprintf("%s:%d:%d%s", s.host, quorum, s.election, s.forClients(opts))
			}
		}
		// Fast to start rather than fast in the long run. Without perf data,
		// because a killed JVM leaves its file of them in /tmp.
		if e.net != nil {
			n.java = enter(e.net.hosts[i])
		}
		n.java = append(n.java, inst.java, "-cp", n.dir+":"+inst.classpath,
			"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
		if opts != nil {
			maps.Copy(config, opts.Config)
			n.java = append(n.java, opts.JVM...)
		}
		n.java = append(n.java, "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(n.dir, "zoo.cfg"))
		var cfg strings.Builder
		for _, k := range slices.Sorted(maps.Keys(config)) {
			fmt.Fprintf(&cfg, "%s=%s\n", k, config[k])
		}
		if err := os.Mkdir(n.dir, 0o755); err != nil {
			return err
		}
		files := map[string]string{"zoo.cfg": cfg.String(), "myid": strconv.Itoa(i + 1)}
		maps.Copy(files, loggers(n.logs != ""))
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// loggers returns the configurations of the loggers that ZooKeeper comes with: in
// Debian, since 3.8, and before. If they are kept, the logs have the time, and what the
// servers say of electing and following a leader.
func loggers(kept bool) map[string]string {
	const quorum = "org.apache.zookeeper.server.quorum"
	simple := "org.slf4j.simpleLogger.defaultLogLevel=warn\n"
	pattern, back, log4j := "%level %logger: %msg%n", "", ""
	if kept {
		simple += "org.slf4j.simpleLogger.showDateTime=true\norg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS\n" +
			"org.slf4j.simpleLogger.log." + quorum + "=info\n"
		pattern = "%d{HH:mm:ss.SSS} " + pattern
		back = `<logger name="` + quorum + `" level="INFO"/>` + "\n"
		log4j = "log4j.logger." + quorum + "=INFO\n"
	}
	return map[string]string{
		"simplelogger.properties": simple,
		"logback.xml": `<configuration>
<appender name="E" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>` + pattern + `</pattern></encoder></appender>
` + back + `<root level="WARN"><appender-ref ref="E"/></root>
</configuration>
`,
		"log4j.properties": `log4j.rootLogger=WARN, E
log4j.appender.E=org.apache.log4j.ConsoleAppender
log4j.appender.E.layout=org.apache.log4j.SimpleLayout
` + log4j,
	}
}

// freePorts returns n ports of the loopback interface that nobody listens on.
// They are below the range from which Linux takes the ports of outgoing
// connections: a killed server's port must be free when it restarts, and with
// one of that range a client of another server could have it.
func freePorts(n int) ([]int, error) {
	const low, high = 20000, 32000
	var ports []int
	var err error
	for range 100 * n {
		if len(ports) == n {
			return ports, nil
		}
		var l net.Listener
		port := low + rand.IntN(high-low)
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err != nil {
			continue
		}
		defer l.Close() // not before all are chosen, so that they differ
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("no free port: %w", err)
}

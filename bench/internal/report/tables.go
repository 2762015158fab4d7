package report

// A column shows one metric.
type column struct {
	metric string
	title  string
	ratio  bool // shown a second time, compared to the first peer
}

// A table has a line for each peer of each row of a workload.
type table struct {
	workload string
	title    string
	size     string // what N means
	text     string // what is done, and what the columns mean that do not say so themselves
	columns  []column
	from     int // the least N
}

const perOp = "CPU times are microseconds, and all costs "

var tables = []table{
	{
		workload: "cycle", title: "Locks of one's own", size: "clients",
		text: "Each client acquires and releases a lock for which nobody else contends, again and again. " + perOp + "per cycle.",
		columns: []column{
			{"rate", "cycles/s", true}, {"cycle_p50", "p50 µs", true}, {"cycle_p99", "p99 µs", false},
			{"client_cpu", "client CPU", true}, {"requests", "requests", false}, {"bytes_out", "bytes from the server", false},
			{"server_cpu", "server CPU", false}, {"disk", "disk bytes", false},
		},
	},
	{
		workload: "handover", title: "Hand-over", size: "contenders",
		text: "All contend for one lock, and release it as soon as they have it. " + perOp + "per hand-over.",
		columns: []column{
			{"rate", "hand-overs/s", true}, {"hand_p50", "p50 µs", true}, {"hand_p99", "p99 µs", false},
			{"client_cpu", "client CPU", true}, {"requests", "requests", false}, {"bytes_out", "bytes from the server", false},
			{"server_cpu", "server CPU", false}, {"disk", "disk bytes", false},
		},
	},
	{
		workload: "handover", title: "Memory of a session", size: "contenders", from: 128,
		text: "KB by which the client's process grows for each session: with its session open, and with a contender that waits in it. Stacks and goroutines are known of Go alone. The heap would mislead: of go-zookeeper's two buffers of 1.5 MB no more is resident than was used.",
		columns: []column{
			{"session_rss", "RSS, idle", false}, {"waiting_rss", "RSS, waiting", true},
			{"stack_kb", "stacks", false}, {"goroutines", "goroutines", false},
		},
	},
	{
		workload: "queue", title: "Many contenders in one session", size: "contenders",
		text: "All queue at once for a lock that another client holds, and then take their turns. Memory is KB for each of them while they wait; CPU and requests are those of the drain.",
		columns: []column{
			{"queue_s", "s to queue", true}, {"drain_s", "s to drain", true}, {"heap_kb", "heap", false}, {"stack_kb", "stacks", false},
			{"goroutines", "goroutines", false}, {"client_cpu", "client CPU µs", true}, {"requests", "requests", false},
			{"bytes_out", "bytes from the server", false}, {"lost", "lost", false},
		},
	},
	{
		workload: "shared", title: "Shared lock", size: "readers",
		text: "Readers acquire and release the lock for reading, again and again; one writer does so for writing, and pauses for 10 ms. " + perOp + "per grant.",
		columns: []column{
			{"rate", "grants/s", true}, {"writes", "writes/s", true}, {"read_p50", "read p50 µs", false}, {"read_p99", "p99", false},
			{"write_p50", "write p50 µs", false}, {"write_p99", "p99", false}, {"client_cpu", "client CPU", true}, {"requests", "requests", false},
			{"bytes_out", "bytes from the server", false},
		},
	},
	{
		workload: "fanout", title: "Subscribers to one znode", size: "subscribers",
		text:    "All in one client. The time of a change is until the last has heard of it. " + perOp + "per change.",
		columns: append([]column{{"subscribe_s", "s to subscribe", false}}, changes...),
	},
	{
		workload: "settings", title: "Settings", size: "settings",
		text:    "One client follows all; each change, of which there are 100 a second, is of another. " + perOp + "per change.",
		columns: append([]column{{"missed", "changes not seen", false}}, changes...),
	},
	{
		workload: "group", title: "A change in a group", size: "members",
		text:    "A member comes or goes. The time is until the last watcher knows, which is when the next change is made. " + perOp + "per change and watcher. The floor lists the names, and reads no data.",
		columns: changes,
	},
	{
		workload: "tree", title: "A change in a tree of settings", size: "settings",
		text:    "One setting changes. The time is until the last watcher knows, which is when the next change is made. " + perOp + "per change and watcher. The floor follows that setting alone.",
		columns: changes,
	},
	{
		workload: "recovery", title: "After a reset of the connection", size: "contenders",
		text: "Beside them 1,000 znodes are followed. Repaired means that the client has nothing more to ask. Afterwards each znode is changed; missed are those of which nothing was heard. CPU times are microseconds for the whole.",
		columns: []column{
			{"secs", "s to repair", true}, {"sent", "requests", false}, {"received", "bytes from the server", false},
			{"client_cpu", "client CPU", false}, {"server_cpu", "server CPU", false}, {"lost", "lost", false}, {"missed", "missed", false},
		},
	},
	{
		workload: "lease", title: "Price of the lease", size: "idle sessions",
		text: "Each holds as many locks as the line says, and its client does nothing, with a session timeout of 10 s. " + perOp + "per session and second.",
		columns: []column{
			{"requests", "requests", false}, {"server_cpu", "server CPU", false}, {"client_cpu", "client CPU", false},
			{"bytes_out", "bytes from the server", false}, {"disk", "disk bytes", false},
		},
	},
}

// changes are the columns for changes that are followed.
var changes = []column{
	{"change_p50", "p50 µs", true}, {"change_p99", "p99 µs", true}, {"requests", "requests", false},
	{"bytes_out", "bytes from the server", false}, {"client_cpu", "client CPU", false}, {"server_cpu", "server CPU", false},
}

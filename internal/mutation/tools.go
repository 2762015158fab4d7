package main

// Faults in what the tests stand on.
var inTools = []mutant{
	{"unmet", "internal/harness/workload.go",
		`t.Errorf("the frame has not come in %d runs", times)`,
		`t.Logf("the frame has not come in %d runs", times)`,
		"a case that never meets its fault passes"},
}

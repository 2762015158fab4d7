package main

// Faults in package config and in internal/claim.
var inValues = []mutant{
	{"fence-superseded", "config/witness.go",
		"case string(n.Data) == superseded:\n\t\treturn prevented, nil, nil\n\t}",
		"}",
		"a change that was prevented, by a try whose answer was lost, counts as made"},

	{"guards-cleared", "internal/claim/step.go",
		`if in.alone && m.cause == nil {`,
		`if m.cause == nil {`,
		"one holds while the guarded writes of the holder before still pass"},
	{"refusal-told", "internal/claim/data.go",
		`d.decided, d.err = gen, err; err == nil {`,
		`d.decided, d.err = gen, err; gen > d.written {`,
		"a write that was refused counts as made"},
}

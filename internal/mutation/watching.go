package main

// Faults in what follows znodes: internal/watch and internal/subtree.
var inWatching = []mutant{}

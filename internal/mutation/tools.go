package main

// Faults in what the tests stand on.
var inTools = []mutant{}

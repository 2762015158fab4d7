package main

// Faults in how package coord keeps a session and what is held in it.
var inSession = []mutant{}

package main

// Faults in package config and in internal/claim.
var inValues = []mutant{}

package main

// Faults in the queue of contenders: internal/queue, and the recipes that add least to it.
var inQueueing = []mutant{}

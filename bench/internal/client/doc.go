// Package client is the process that is measured: one client, or many, of one
// library, through one workload.
//
// It speaks the protocol of all clients, those in other languages too. It takes the
// flags of [Flags]. At each moment that matters it prints a line "mark NAME" and waits
// for a line in return, so that the caller can read the clocks and counters of the
// client and of the server then. At the end it prints what it has measured itself, as
// one line of JSON: an object of numbers. Where standard input is at its end it does
// not wait.
//
// The marks are:
//
//	base, sessions, waiting  memory was collected: before the sessions are opened, with
//	                         them, and with all contenders waiting
//	begin, end               around what is measured
//	rest                     what was asked for is to be done before the line in return:
//	                         until then client and server use processor time
//
// The numbers are at least ops, what was done between begin and end, and secs, how long
// that took. If steady is not zero the load goes on through both marks, so that the
// rates of counters mean more than their differences. What ends in _p50 or _p99 are
// microseconds.
package client

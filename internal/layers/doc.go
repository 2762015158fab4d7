// Package layers has no code. Its tests hold the order of the module's packages:
// imports run downwards, test tools are not imported by the library, and the library
// depends on few modules. Each package has its comment in a doc.go.
package layers

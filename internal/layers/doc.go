// Package layers has no code. Its test holds the order of the module's packages:
// imports run downwards, test tools are not imported by the library, and the library
// depends on few modules.
package layers

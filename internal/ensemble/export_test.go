//go:build linux

package ensemble

// Require is what New and Shared begin with.
var Require = require

// Dir returns the directory with all that belongs to the ensemble.
func (e *Ensemble) Dir() string { return e.dir }

// Link returns the name of our end of the link to servers in namespaces, "" if they
// are in none.
func (e *Ensemble) Link() string {
	if e.net == nil {
		return ""
	}
	return e.net.name
}

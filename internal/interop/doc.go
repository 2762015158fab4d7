// Package interop has nothing but tests: that the locks of this module share a
// directory with those of other clients, as docs/other-clients.md says. The other clients
// are the real ones. Contenders of kazoo run in a Python process, those of
// Curator in a JVM.
//
// The script .ci/zookeeper installs what it takes. Where something is missing,
// the tests that need it are skipped, or fail if $REQUIRE_ZOOKEEPER is not empty.
package interop

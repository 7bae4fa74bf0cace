// Package ecosystem installs the published definitions of projects that many
// clusters run, and stores their sample objects.
//
// The definitions come from the projects' Go modules, with the versions and
// checksums in testdata/modules.txt. The tests read them from the module cache
// and import no package, so that the modules do not change the versions of our
// dependencies.
package ecosystem

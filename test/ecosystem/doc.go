// Package ecosystem installs the definitions of projects that many clusters run,
// as they are published, and stores objects of theirs.
//
// The definitions come from the projects' Go modules, whose versions and sums are
// in testdata/modules.txt. They are read from the module cache and never
// imported, so that no version of anything that is tested follows from them.
package ecosystem

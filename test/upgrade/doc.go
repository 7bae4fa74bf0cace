// Package upgrade tests that a server serves the data of another release.
//
// For each release, testdata has an archive with a data directory that its program wrote, and with all objects as that program
// served them. TestUpgrade starts this program on a copy of the directory. It compares every object, and tries to break every
// protection. TestDowngrade does the same in both directions with the program of an earlier release, which `make downgrade` builds.
//
// `make upgrade-data EARLIER=v0.1.0` adds the archive of a release. The keys in an archive belong to no other server.
package upgrade

// Package pack reads, checks and writes operator packages: a folder, or a .tgz of
// it, with operator.yaml, params.yaml and templates/.
//
//	p, err := pack.Load("kafka-2.5.0-1.3.0.tgz")
//	findings := p.Verify()
//	operator, version := p.Resources("default")
//
// KUDO's packages are read as they are, also those in the older forms: version for
// operatorVersion, tasks and parameters as maps, maintainers as text. What KUDO
// passes over in silence, such as a field that there is not, is a warning of
// Verify.
//
// A task of kind KudoOperator may name a package in a folder of this one, as
// ./zookeeper. It is read, checked and written with it.
//
// A package may come from anywhere: nothing is written to the disk, nothing but
// regular files is read, and all sizes are bounded. Packages are values; reading
// shares nothing.
package pack

// Package pack reads, verifies and writes operator packages. A package is a folder, or a
// .tgz of it, with operator.yaml, params.yaml and templates/.
//
//	p, err := pack.Load("kafka-2.5.0-1.3.0.tgz")
//	findings := p.Verify()
//	operator, version := p.Resources("default")
//
// Packages of KUDO are read without changes, including the older formats: version
// instead of operatorVersion, tasks and parameters as maps, maintainers as text. Verify
// reports as warnings what KUDO ignores silently, such as unknown fields.
//
// A task of kind KudoOperator may name a package in a subfolder, such as ./zookeeper.
// Such a package is called bundled. It is read, verified and written together with the
// package that contains it.
//
// A package may come from an untrusted source. Reading writes nothing to disk, reads
// regular files only, and bounds all sizes. A Package is a plain value without shared
// state.
package pack

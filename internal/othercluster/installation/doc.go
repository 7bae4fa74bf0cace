// Package installation installs and removes a program of this project on a cluster: the manager of operator
// packages, and the guard.
//
//	objects, err := installation.Read(files, "objects/cluster.yaml")
//	installation.Label(objects, "holdfast-guard")
//	err = installation.Applier{Client: client, FieldManager: "init"}.ApplyAll(ctx, objects, report)
//
// An installation is a list of objects, in the order in which they are applied. Applying is idempotent: it
// changes only objects that differ.
package installation

// Package lifecycle runs the controllers of the server. They delete the content of
// terminating namespaces, finish the deletion of pods on unreachable nodes, delete pods on
// nodes that do not exist, collect garbage (package garbage), update the status of
// ResourceQuotas (package quota), keep PersistentVolumeClaims and PersistentVolumes that are in
// use (package volume), create the default ServiceAccount and the ConfigMap
// kube-root-ca.crt in every namespace, carry out StorageVersionMigrations, and delete unused immutable ConfigMaps
// and Secrets (package collection).
//
//	err := lifecycle.Run(ctx, lifecycle.Config{Client: loopback})
//
// Only one of several servers runs the controllers: the leader, which holds the Lease
// kube-system/holdfast-controllers.
//
// While nothing changes, the controllers have one watch for each kind and a few more,
// renew the Lease, and read discovery once a minute. A controller that deletes a single
// object sets its UID as a precondition. So it never deletes another object of the same
// name, even if it has lost the Lease without noticing. When Run returns, all goroutines
// that it started have ended.
package lifecycle

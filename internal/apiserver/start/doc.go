// Package start has what the stages of the start build on: the resources that are open while the server exists ([Opened]), the
// settings of the generic server ([Base]), and the functions that run when the server listens and when it shuts down ([Hooks]).
//
//	opened, err := start.Open(ctx, config)
//	base, err := start.NewBase(config, opened)
//
// Open opens the resources that an administrator can get wrong: the data directory, its lock, the port, the certificates, etcd.
package start

// Package side starts the servers that bench measures, and reads what they cost.
//
// A side is a server in an empty directory: Holdfast, or its peer, which is kube-apiserver with an etcd of its own. Both write to disk
// with fsync, serve TLS, authenticate clients by certificates, authorize them with RBAC and write no audit log. The clients of this
// package send the same requests to both, and ask for no compression.
//
//	server, err := side.Holdfast("bin/holdfast").Start(dir)
//	client, err := server.Client(side.User{Name: "alice"})
//
// CPU time and memory are those of all processes of the side. They come from /proc, so this package works on Linux only.
package side

// Package apiserver is the Kubernetes-compatible API server: storage in etcd,
// authentication, admission, the registries of the built-in kinds, discovery
// and OpenAPI, put together from k8s.io/apiserver.
//
//	server, err := apiserver.New(ctx, apiserver.Config{DataDir: dir})
//	err = server.Run(ctx, func() { fmt.Println("ready at", server.URL()) })
//
// New opens everything that can fail for a reason a person can mend: the data
// directory, its lock, the port, the certificates, etcd. Run serves until its
// context ends, drains, and returns when everything is closed. One Server may
// be run once.
package apiserver

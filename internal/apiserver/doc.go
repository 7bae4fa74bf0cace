// Package apiserver is the Kubernetes-compatible API server. It puts k8s.io/apiserver
// and the packages below it together: storage in etcd, authentication, authorization,
// admission, the registries of all kinds, discovery and OpenAPI.
//
//	server, err := apiserver.New(ctx, apiserver.Config{DataDir: dir})
//	err = server.Run(ctx, func() { fmt.Println("ready at", server.URL()) })
//
// New first opens the resources that an administrator can get wrong: the data directory,
// its lock, the port, the certificates, etcd. Then it builds the server in stages, see
// build. Run serves until its context ends, waits a few seconds for requests in flight, and
// returns when everything is closed. A Server can be run once.
package apiserver

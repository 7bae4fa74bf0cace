// Package aggregation serves the API groups of other API servers. An APIService names the
// Service of such a server, and this server forwards the requests for its group and version.
//
// The package has these words:
//
//   - A local APIService has no Service: this server serves the API itself. Registrar
//     creates one for each group version of built-in kinds and of definitions.
//   - A remote APIService has a Service: another server serves the API. Server watches the
//     remote APIServices.
//
// The package has these parts:
//
//   - Router finds the proxy of a request. It is the outermost handler after authorization.
//   - A proxy forwards requests to the server of one remote APIService, with the name of
//     the user in headers and without the user's credential.
//   - Server keeps the proxies, and the discovery and OpenAPI documents of their groups.
//   - Trust publishes the certificate authorities by which other servers verify this one.
//
// The controllers that set the condition Available, create local APIServices and read the
// discovery documents of other servers are those of k8s.io/kube-aggregator.
//
//	router := &aggregation.Router{}
//	handler = router.Wrap(handler)
//	server := aggregation.New(aggregation.Config{Router: router, ...})
//	err := server.Start(ctx)
//
// Without remote APIServices, a request costs the comparison of a pointer with nil. Other
// servers cannot serve groups of built-in kinds. Documents of other servers have a maximum
// size and a deadline, and the requests of clients never wait for them.
package aggregation

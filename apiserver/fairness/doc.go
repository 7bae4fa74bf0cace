// Package fairness keeps one client of the server from using up what the others need.
//
// The server limits concurrent requests with the API Priority and Fairness of
// k8s.io/apiserver. A FlowSchema assigns a request to a priority level. Each level has its
// own share of the server, counted in seats, and queues requests by user or by namespace.
// This package adds two things.
//
// [Defaults] keeps the PriorityLevelConfigurations and FlowSchemas that Kubernetes comes
// with: leader election, nodes, controllers and all other clients have levels of their own.
//
//	defaults, err := fairness.New(client.FlowcontrolV1(), informers.Flowcontrol().V1())
//	err = defaults.Create(ctx)  // once, before the server is ready
//	defaults.Run(ctx)           // restores what is deleted or changed
//
// Mandatory objects (exempt, catch-all) always get their spec back. Suggested objects are
// created again when they are deleted; an administrator who sets the annotation
// apf.kubernetes.io/autoupdate-spec to "false" may change them. This is what
// kube-apiserver does, but on events instead of once a minute.
//
// [WithBodies] and [NewFlowControl] receive the body of a request before the request takes
// a seat, within bodyTimeout, and at most maxArriving bodies of one user at a time. A client
// that sends its bodies slowly delays only its own requests.
package fairness

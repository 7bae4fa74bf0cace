// Package fairness prevents one client from using up the capacity that other clients of the
// server need.
//
// The server limits concurrent requests with the API Priority and Fairness of
// k8s.io/apiserver. A FlowSchema assigns a request to a priority level. Each level has its
// own share of the server, counted in seats, and queues requests by user or by namespace.
// This package adds three things.
//
// [Defaults] keeps the PriorityLevelConfigurations and FlowSchemas that Kubernetes comes
// with: leader election, nodes, controllers and all other clients have levels of their own.
//
//	defaults, err := fairness.New(client.FlowcontrolV1(), informers.Flowcontrol().V1())
//	err = defaults.Create(ctx)  // once, before the server is ready
//	defaults.Run(ctx)           // restores what is deleted or changed
//
// Defaults restores the spec of a mandatory object (exempt, catch-all) after every change.
// Only spec.exempt of the priority level exempt can be changed. It creates a suggested
// object again when it is deleted. To change a suggested object, an administrator sets its
// annotation apf.kubernetes.io/autoupdate-spec to "false". kube-apiserver does the same,
// but once a minute instead of on events.
//
// [WithBodies] and [NewFlowControl] receive the body of a request before the request takes
// a seat, within bodyTimeout. They receive at most maxArriving bodies of one user at a time, and
// let at most maxWaiting others wait, except for the group system:masters. A client that sends its
// bodies slowly delays only its own requests.
//
// [Detach] and [Attach] end the work for a request when its client cancels it, and limit the
// requests of one connection that have not reached the priority levels. A client that cancels
// its requests at once waits before its next requests begin. A request whose client does not read
// the answer gives its seat back after unreadAfter.
package fairness

// Package scale computes from the figures of package compare how many nodes and definitions a server carries.
//
// Its words:
//
//   - Costs are what one request, object, watch, node or definition costs a server. All of them are measured.
//   - A profile says what a node does: how many pods and watches it has, and how often it writes. These are assumptions.
//   - A load is a number of nodes with a profile, and a number of definitions.
//   - A demand is what a load takes from one server: CPU, memory, writes, and so on.
//   - A layout is one server with its own etcd, or three servers on an etcd cluster.
//   - A limit is a demand divided by what a machine or etcd has. The first limit is the one that is reached with the fewest nodes.
//
// The model is a sum of costs. It has no queues and no factor that was fitted to a measurement:
//
//	costs, err := scale.ReadCosts(figures)
//	demand := costs.Demand(scale.Load{Nodes: 1000, Profile: scale.Kubelets()}, scale.OneServer())
package scale

package scale

import (
	"fmt"
	"strings"
)

// introduction returns the start of the page. It says which part of the page is measured.
func introduction(measured bool) string {
	source := `It is a
computation from the figures of [benchmarks.md](benchmarks.md), and no measurement of such clusters. ` + "`make pages`" + ` writes it again.`
	if measured {
		source = `It is a
computation from the figures of [benchmarks.md](benchmarks.md), except the section [Measured](#measured): a large cluster on one server, beside what
the computation says about it. ` + "`make scale-run`" + ` measures it, and ` + "`make pages`" + ` writes the page again.`
	}
	return `# Scale

This page says how many nodes and definitions a server carries, which limit comes first, and which metric shows that it is near. ` + source + `

- *Agents* are nodes with Holdfast's agent, whose ConfigMaps and Secrets are immutable: the agent does not watch them.
- *Kubelets* are nodes with a kubelet and kube-proxy. A kubelet has a watch for each mutable ConfigMap and Secret of its pods, and
  none for an immutable one. kube-proxy gets every change of an EndpointSlice on every node.
`
}

// metric is an expression of Prometheus that shows how near a limit is.
type metric struct{ limit, expression, near string }

// metrics returns the expressions, and from which value on the limit is near.
func (c Costs) metrics() []metric {
	return []metric{
		{
			"CPU", `rate(process_cpu_seconds_total{job="holdfast"}[5m])`,
			fmt.Sprintf("above %.1f of the cores of the machine", cpuShare),
		},
		{
			"CPU: requests wait", `sum by (instance) (apiserver_flowcontrol_current_inqueue_requests{job="holdfast"})`,
			"above 0 for minutes",
		},
		{
			"CPU: watch events", `sum by (instance) (rate(apiserver_watch_events_total{job="holdfast"}[5m]))`,
			fmt.Sprintf("so high that %s ms for each are half of the CPU time", precise(c.WatchEvent)),
		},
		{"memory", `process_resident_memory_bytes{job="holdfast"}`, fmt.Sprintf("above %.1f of the memory of the machine", memoryShare)},
		{
			"memory: watches", `sum by (instance) (apiserver_longrunning_requests{job="holdfast",verb="WATCH"})`,
			fmt.Sprintf("so high that %s for each are half of the memory", size(c.Watch)),
		},
		{
			"memory: definitions", `holdfast_definitions_compiled{job="holdfast"}`,
			fmt.Sprintf("so high that %s for each are half of the memory", size(c.Used)),
		},
		{
			"etcd writes", `sum(rate(etcd_request_duration_seconds_count{job="holdfast",operation=~"create|update|delete"}[5m]))`,
			fmt.Sprintf("above %s in a second", thousands(etcdWrites/2)),
		},
		{
			"etcd writes: the disk",
			`histogram_quantile(0.99, sum by (operation, le) (rate(etcd_request_duration_seconds_bucket{job="holdfast",operation="update"}[5m])))`,
			"above 0.1 s",
		},
		{"etcd size", `max(apiserver_storage_size_bytes{job="holdfast"})`, "above 6 GB of 8 GB"},
		{"connections", `process_open_fds{job="holdfast"} / process_max_fds{job="holdfast"}`, "above 0.7"},
		{
			"restart", `sum by (instance) (rate(apiserver_request_total{job="holdfast",code="429"}[1m]))`,
			fmt.Sprintf("above 0 for longer than %d s after a start", backSeconds),
		},
	}
}

// metricsTable returns the table of the expressions.
func (c Costs) metricsTable() string {
	var b strings.Builder
	b.WriteString("| limit | expression | near the limit when it is |\n|---|---|---|\n")
	for _, m := range c.metrics() {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", m.limit, strings.ReplaceAll(m.expression, "|", `\|`), m.near)
	}
	b.WriteString("\nThe scrape job has the name `holdfast`, as for the alerts of [monitoring.md](monitoring.md).\n")
	return b.String()
}

const threeServers = `- Reads, watches and connections are spread: each server has a third of them, and half while one server is down.
- Writes are not spread. Each goes through the leader of etcd, and etcd writes it to disk on a majority of its members.
- Each server has all objects in its watch caches, and decodes each change. So three servers need the memory of the objects three times, and
  only the memory of watches and connections is shared among them.
- So three servers survive the loss of one, and carry more watches. They do not carry more writes or more objects than one.
- A load balancer must spread connections by their number. After a restart, clients stay with the servers that answered first.
`

// cells returns the section about cells.
func (c Costs) cells() string {
	m := Machines()[1]
	var b strings.Builder
	fmt.Fprintf(&b, `A cell is a cluster of its own: three servers, an etcd cluster and its nodes. Add a cell when a limit that three servers do not
raise comes near: etcd writes, etcd size, or the memory of the objects. The table has cells whose servers have %.0f cores and %.0f GB, and
that are filled to two thirds:

| nodes | with | nodes in a cell | cells |
|--:|---|--:|--:|
`, m.Cores, m.MemoryGB)
	for _, nodes := range []float64{1_000, 10_000, 100_000} {
		for _, p := range []Profile{Agents(), ImmutableKubelets(), Kubelets()} {
			most, _ := c.Capacity(Load{Definitions: plotDefinitions, Profile: p}, ThreeServers(), m)
			perCell := max(1, rounded(most*2/3))
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", thousands(nodes), p.Name, thousands(min(perCell, nodes)), thousands(cellsFor(nodes, perCell)))
		}
	}
	b.WriteString(`
Nothing of these may cross cells:

- An object and its owner, and the pods of a Deployment: each cell has its own garbage collector and quotas.
- A Service and its EndpointSlices: kube-proxy sees the pods of its own cell.
- Names and cluster IPs: two cells can have the same ones.
- Credentials: each cell has its own certificate authority and its own key for tokens.
- A resourceVersion, and a watch that continues with it.

The same definitions, ConfigMaps and operator packages can be applied to all cells from one repository. Immutable ConfigMaps whose names
contain a hash of their content are the same in all of them.
`)
	return b.String()
}

// model returns the section about the assumptions and the costs.
func (c Costs) model() string {
	agents, kubelets := Agents(), Kubelets()
	var b strings.Builder
	fmt.Fprintf(&b, `A demand is a sum: how often something happens, times what it costs. These costs are measured, by one client program on two
cores ([benchmarks.md](benchmarks.md)):

| one | costs |
|---|---|
| second at rest | %s ms of CPU time |
| Lease update, Node status patch | %s and %s ms |
| Pod create, Pod status patch, Event create | %s, %s and %s ms |
| ConfigMap get, ConfigMap update | %s and %s ms |
| get and patch of a custom resource | %s and %s ms |
| object in a list, event of one watch | %s and %s ms |
| node that comes back after a restart, with one watch | %s ms |
| server at rest | %s |
| connected node, pod | %s and %s |
| custom resource of 30 fields, watch of an object | %s and %s |
| definition that no client uses, definition in use | %s and %s |
| start; and for each definition; and for 1,000 objects | %s, %s and %s ms |
`, short(c.Idle), short(c.LeaseUpdate), short(c.NodeStatus), short(c.PodCreate), short(c.PodStatus), short(c.EventCreate), short(c.Get),
		short(c.Update), short(c.CustomGet), short(c.CustomPatch), precise(c.ListedObject), precise(c.WatchEvent), short(c.Return),
		size(c.Rest), size(c.Node), size(c.Pod), size(c.Object), size(c.Watch), size(c.Unused), size(c.Used),
		short(c.Ready), short(c.ReadyDefinition), short(1000*c.ReadyObject))
	fmt.Fprintf(&b, `
These are assumptions:

- A node renews its Lease every %.0f s and writes its status every %.0f s. It has %.0f pods, and each pod has a ConfigMap and a Secret.
- Each pod is replaced once a day. In its life it is created, its status changes %d times, it is deleted in %d requests, and components write
  %d events and %d statuses of its owners. Each pod asks for a token every %.0f minutes, which costs as much as a ConfigMap update.
- An agent has %.0f connection and %.0f watches. A kubelet with kube-proxy has %.0f connections and %.0f watches, and one for each mutable
  ConfigMap and Secret: %.0f more. To open a watch costs as much as a ConfigMap get.
- %.0f clients watch all pods and nodes. With kube-proxy, a replaced pod changes one EndpointSlice, which goes to all nodes.
- A ConfigMap, a Secret or an event takes as much memory as the custom resource of 30 fields. Events stay for an hour.
- %.0f %% of the definitions are in use. Each of these has %d objects and a controller, which reads each object and patches its status every
  %d minutes.
- Stored objects have %.0f KB (Node), %.1f KB (Lease), %.0f KB (Pod), %.1f KB (ConfigMap), %.0f KB (event), %.0f KB (custom resource) and
  %.0f KB (definition), and the database is %.1f times as large. An embedded etcd has %s old revisions, and an etcd cluster those of
  %d minutes.
- A server may use %.0f %% of the cores and %.0f %% of the memory. CPU time grows in proportion to the work, on any number of cores.
- etcd takes %s writes in a second and 8 GB. A server has at most %s connections. All clients are to be back %d s after a restart, in
  which the server uses all cores.
- Clients of their own, such as CI jobs and dashboards, come on top.
`, agents.LeaseSeconds, agents.StatusSeconds, agents.Pods, podStatuses, podDeletes, podEvents, podOwners, agents.TokenSeconds/60,
		agents.Connections, agents.Watches+agents.ObjectWatches, kubelets.Connections, kubelets.Watches, kubelets.ObjectWatches,
		agents.Readers, 100*usedShare, objectsPerUsed, customSeconds/60,
		nodeSize, leaseSize, podSize, configSize, eventSize, customSize, definitionSize, storedFactor, thousands(embeddedRevisions),
		historySeconds/60, 100*cpuShare, 100*memoryShare, thousands(etcdWrites), thousands(openFiles), backSeconds)
	return b.String()
}

// precise returns a small value with three decimals.
func precise(value float64) string { return fmt.Sprintf("%.3f", value) }

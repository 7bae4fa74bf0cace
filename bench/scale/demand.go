package scale

// Demand is what a load takes from one server.
type Demand struct {
	// Cores is the CPU time in one second, and EventCores the part of it that watch events take. Memory is in MB.
	Cores, EventCores, Memory float64
	// Writes is the number of writes to etcd in one second, of all servers, and Stored the size of its database in MB.
	Writes, Stored float64
	// Events is the number of events in one second that the server sends to watches.
	Events float64
	// Watches and Connections are those of the server.
	Watches, Connections float64
	// Back is the CPU time in seconds until all clients are back after a restart of the server.
	Back float64
}

// rates are how often something happens in one second, in the whole cluster.
type rates struct {
	leases, nodeStatuses, podCreates, podWrites, events, owners, tokens, custom float64
	// watchEvents is the number of events that watches get.
	watchEvents float64
}

func (l Load) rates() rates {
	p := l.Profile
	replaced := l.replacedPods()
	r := rates{
		leases: l.Nodes / p.LeaseSeconds, nodeStatuses: l.Nodes / p.StatusSeconds,
		podCreates: replaced, podWrites: replaced * (podStatuses + podDeletes), events: replaced * podEvents, owners: replaced * podOwners,
		tokens: l.pods() / p.TokenSeconds, custom: l.customObjects() / customSeconds,
	}
	// A pod goes to the readers and to its node; a Node to the readers and to itself; a Lease to the node controller; an event and the
	// status of a workload to two clients; and an EndpointSlice to all nodes.
	r.watchEvents = replaced*podChanges*(p.Readers+1) + r.nodeStatuses*(p.Readers+1) + r.leases + 2*(r.events+r.owners) +
		replaced*p.ServiceChanges*l.Nodes + r.custom
	return r
}

// writes returns the number of writes to etcd in one second.
func (r rates) writes() float64 {
	return r.leases + r.nodeStatuses + r.podCreates + r.podWrites + r.events + r.owners + r.custom
}

// written returns the KB that are written to etcd in one second.
func (r rates) written() float64 {
	return r.leases*leaseSize + r.nodeStatuses*nodeSize + (r.podCreates+r.podWrites)*podSize + r.events*eventSize + r.owners*configSize +
		r.custom*customSize
}

// requestSeconds returns the CPU time of the requests of one second.
func (c Costs) requestSeconds(r rates) float64 {
	return (r.leases*c.LeaseUpdate + r.nodeStatuses*c.NodeStatus + r.podCreates*c.PodCreate + r.podWrites*c.PodStatus +
		r.events*c.EventCreate + r.owners*c.Update + r.tokens*c.Update + r.custom*(c.CustomGet+c.CustomPatch)) / 1000
}

// Demand returns what a load takes from one server of a layout, while the layout has lost a server.
func (c Costs) Demand(l Load, layout Layout) Demand {
	r, p := l.rates(), l.Profile
	nodes, share := l.Nodes*layout.Share, layout.Share
	controllers := p.Readers + l.used()
	d := Demand{
		Writes: r.writes(), Events: r.watchEvents * share,
		Watches:     nodes*(p.Watches+p.ObjectWatches) + controllers,
		Connections: nodes*p.Connections + controllers,
	}
	// A server that shares its etcd with others gets the writes of the others as events of its own watches.
	foreign := r.writes() * (1 - share)
	d.EventCores = c.WatchEvent * (d.Events + foreign) / 1000
	d.Cores = c.Idle/1000 + d.EventCores + c.requestSeconds(r)*share
	// Each server has all objects.
	configs := p.PodConfigs * l.pods()
	objects := configs + l.customObjects() + r.events*eventSeconds
	d.Memory = c.Rest + l.Nodes*c.Node + l.pods()*c.Pod + objects*c.Object + nodes*(p.Watches-1+p.ObjectWatches)*c.Watch +
		l.used()*c.Used + (l.Definitions-l.used())*c.Unused
	stored := l.Nodes*(nodeSize+leaseSize) + l.pods()*podSize + configs*configSize + l.customObjects()*customSize +
		l.Definitions*definitionSize + r.events*eventSeconds*eventSize
	d.Stored = storedFactor * (stored + layout.history(r)) / 1000
	// Each node connects and opens its watches, and reads what it watches. The readers and controllers list everything.
	perNode := c.Return + (p.Watches-1+p.ObjectWatches)*c.Get
	lists := p.Readers*(l.pods()+l.Nodes) + l.customObjects()
	d.Back = (c.Ready + c.ReadyDefinition*l.Definitions + c.ReadyObject*(l.pods()+objects) + nodes*perNode + lists*c.ListedObject +
		l.used()*c.FirstList) / 1000
	return d
}

// perNode is the memory that one node takes, in MB, by its parts.
type perNode struct{ pods, configs, node float64 }

func (p perNode) sum() float64 { return p.pods + p.configs + p.node }

func (c Costs) perNode(p Profile) perNode {
	return perNode{pods: p.Pods * c.Pod, configs: p.PodConfigs * p.Pods * c.Object, node: c.Node + (p.Watches-1+p.ObjectWatches)*c.Watch}
}

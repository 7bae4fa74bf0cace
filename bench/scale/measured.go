package scale

import (
	"fmt"
	"math"
	"strings"

	"holdfast.dev/holdfast/bench/scalerun"
)

// within is how far the computation may be from the measurement.
const within = 0.2

// runLoad returns what the clients of a run do while nothing changes.
func runLoad(s scalerun.Settings, side *scalerun.Side) Load {
	nodes, pods := float64(s.Nodes), float64(side.Pods)
	p := Profile{
		Name: "the run", Pods: pods / nodes, LeaseSeconds: s.Lease.Seconds(), StatusSeconds: s.Status.Seconds(), Connections: 1, Watches: 1,
		Readers: float64(s.Readers), TokenSeconds: math.Inf(1), PodConfigs: 4 * float64(s.Configs) / pods,
	}
	if steady := side.Phase(scalerun.Steady); steady != nil {
		// A reader watches pods and nodes, and the first one leases too.
		p.ObjectWatches = max(0, float64(steady.Watches)-2*p.Readers-1-nodes) / nodes
	}
	return Load{Nodes: nodes, Profile: p}
}

// RunChecks compares the model with a run on Holdfast.
func (c Costs) RunChecks(r *scalerun.Result) []Check {
	if r == nil {
		return nil
	}
	var checks []Check
	for _, side := range r.Sides {
		if side.Name == "Holdfast" {
			checks = append(checks, c.sideChecks(r.Settings, side)...)
		}
	}
	return checks
}

func (c Costs) sideChecks(s scalerun.Settings, side *scalerun.Side) []Check {
	load := runLoad(s, side)
	demand := c.Demand(load, OneServer())
	name := func(what string) string { return fmt.Sprintf("%d nodes and %d pods: %s", s.Nodes, side.Pods, what) }
	var checks []Check
	add := func(what, unit, phase string, measured func(*scalerun.Phase) float64, predicted func(*scalerun.Phase) float64) {
		if p := side.Phase(phase); p != nil && measured(p) > 0 {
			checks = append(checks, Check{Name: name(what), Unit: unit, Measured: measured(p), Predicted: predicted(p)})
		}
	}
	cpu := func(p *scalerun.Phase) float64 { return p.CPU }
	add("CPU time until the nodes have joined", "s", scalerun.Join, cpu, c.requestsOf)
	add("CPU time until the pods run", "s", scalerun.Start, cpu, c.requestsOf)
	add("CPU time while nothing changes", "s", scalerun.Steady, cpu, func(p *scalerun.Phase) float64 { return demand.Cores*p.Seconds + c.probes(p) })
	add("memory while nothing changes", "MB", scalerun.Steady, func(p *scalerun.Phase) float64 { return p.Memory },
		func(*scalerun.Phase) float64 { return demand.Memory })
	add("CPU time until the replaced pods run", "s", scalerun.Replace, cpu, c.requestsOf)
	add("CPU time until all clients are back", "s", scalerun.Restart, cpu, func(p *scalerun.Phase) float64 {
		// The clients wait before they try again, and the nodes renew their leases meanwhile.
		return demand.Back + demand.Cores*p.Seconds
	})
	return checks
}

// requestsOf returns the CPU time of the requests and events of a phase, in seconds.
func (c Costs) requestsOf(p *scalerun.Phase) float64 {
	sum := c.Idle * p.Seconds
	for _, r := range p.Requests {
		sum += c.request(r)
	}
	return (sum + c.WatchEvent*float64(p.Events)) / 1000
}

// probes returns the CPU time of the requests that a run sends beside those of its nodes, in seconds.
func (c Costs) probes(p *scalerun.Phase) float64 {
	sum := 0.0
	for _, r := range p.Requests {
		if r.Verb == "get" || r.Verb == "list" || r.Resource == "configmaps" {
			sum += c.request(r)
		}
	}
	return sum / 1000
}

// request returns the CPU time of requests of one kind, in milliseconds.
func (c Costs) request(r scalerun.Requests) float64 {
	each := c.Update
	switch {
	case r.Verb == "list" || r.Verb == "list and watch":
		return float64(r.Count)*c.Get + float64(r.Objects)*c.ListedObject
	case r.Verb == "get" || r.Verb == "watch":
		each = c.Get
	case r.Resource == "leases":
		each = c.LeaseUpdate
	case r.Resource == "nodes/status":
		each = c.NodeStatus
	case r.Resource == "pods" && r.Verb == "create":
		each = c.PodCreate
	case strings.HasPrefix(r.Resource, "pods"):
		each = c.PodStatus
	}
	return float64(r.Count) * each
}

// measuredText returns the section about a run.
func measuredText(r *scalerun.Result, checks []Check) string {
	var b strings.Builder
	s := r.Settings
	fmt.Fprintf(&b, `This section is no computation. It was measured on a machine with %d cores and %s of memory, which ran the clients too, by

    %s

- %s nodes write a Lease every %.0f s and their status every %.0f s. Each has a connection, a credential and a watch of its pods.
- The pods share %d mutable and %d immutable ConfigMaps, and as many Secrets. A node reads those of its pods, and watches the mutable ones.
- %d clients watch all pods and nodes. The requests and answers are JSON.
- The pods are created, bound and run. Then nothing changes for %s. Then %s pods are replaced, the server is killed and starts
  again, and %s nodes are lost.

`, r.CPUs, size(r.Memory), r.Command, thousands(float64(s.Nodes)), s.Lease.Seconds(), s.Status.Seconds(), s.Configs, s.Configs, s.Readers,
		duration(s.Steady.Seconds()), thousands(float64(s.Replaced)), thousands(float64(s.Lost)))
	for _, side := range r.Sides {
		b.WriteString(strings.TrimSpace(fmt.Sprintf("%s (%s) ran %s pods on them. %s", side.Name, side.Version, thousands(float64(side.Pods)), side.Note)) + "\n")
	}
	b.WriteString("\n" + r.PhaseTable())
	b.WriteString("\nThe CPU time of the clients is that of all of them. The lag is the time from the start of the request that made a change until its event\n" +
		"arrived. These are the requests of three phases. A latency above the service level of Kubernetes is bold:\n")
	for _, name := range []string{scalerun.Start, scalerun.Steady, scalerun.Replace} {
		fmt.Fprintf(&b, "\n%s:\n\n%s", name, r.RequestTable(name))
	}
	if len(checks) == 0 {
		return b.String()
	}
	b.WriteString("\nThe computation beside the measurement of Holdfast:\n\n| | measured | computed | computed / measured |\n|---|--:|--:|--:|\n")
	near := 0
	for _, one := range checks {
		fmt.Fprintf(&b, "| %s | %s %s | %s %s | %.2f |\n", one.Name, short(one.Measured), one.Unit, short(one.Predicted), one.Unit, one.Ratio())
		if math.Abs(one.Ratio()-1) <= within {
			near++
		}
	}
	fmt.Fprintf(&b, `
%d of %d are within %.0f %%. None of these measurements is in the model. For the nodes that join and the pods that start or are replaced, the
computation takes the number of requests and events from the run. For the others it takes the assumptions of the model, and only the numbers of
nodes, pods, objects and watches from the run.
`, near, len(checks), 100*within)
	return b.String()
}

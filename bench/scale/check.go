package scale

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Check is a measurement that was not used for the costs, beside what the model says about it.
type Check struct {
	// Name says what was measured, and Unit is "s" of CPU time or "MB" of memory.
	Name, Unit          string
	Measured, Predicted float64
}

// Ratio returns the predicted value divided by the measured one.
func (c Check) Ratio() float64 { return c.Predicted / c.Measured }

// row returns the numbers in the cells of the table row that a pattern finds. Numbers have commas between their thousands.
func row(page, pattern string) ([]float64, error) {
	match := regexp.MustCompile(`(?m)^\| ` + pattern + ` \|.*$`).FindStringSubmatch(page)
	if match == nil {
		return nil, fmt.Errorf("no row matches %q", pattern)
	}
	var numbers []float64
	for _, group := range match[1:] {
		n, err := strconv.ParseFloat(strings.ReplaceAll(group, ",", ""), 64)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// What the components of `make compare WHAT=nodes` do for one pod. Its simulated nodes write one status and no events.
const (
	clusterStatuses = 2 // bind, and the status of the node
	clusterEvents   = 2 // of the ReplicaSet and of the scheduler
	clusterReaders  = 5 // kube-scheduler, kube-controller-manager twice, its node, and the client that counts
	// leaderLeases is the number of requests in one second that renew the leases of leaders, each a get and an update.
	leaderLeases = 1.0
)

// ClusterChecks compares the model with the table of docs/cluster.md.
func (c Costs) ClusterChecks(page string) ([]Check, error) {
	nodes, err := row(page, `([\d,]+) nodes become ready \| Holdfast`)
	if err != nil {
		return nil, err
	}
	started, err := row(page, `([\d,]+) pods run \| Holdfast \| [\d.]+ s \| ([\d.]+) s`)
	if err != nil {
		return nil, err
	}
	steady, err := row(page, `nothing changes for \S+ \| Holdfast \| ([\d.]+) s \| ([\d.]+) s \| ([\d,]+) MB`)
	if err != nil {
		return nil, err
	}
	count, pods := nodes[0], started[0]
	perPod := c.PodCreate + clusterStatuses*c.PodStatus + clusterEvents*c.EventCreate + (1+clusterStatuses)*clusterReaders*c.WatchEvent
	profile := Agents()
	perSecond := c.Idle + count/profile.LeaseSeconds*(c.LeaseUpdate+c.WatchEvent) +
		count/profile.StatusSeconds*(c.NodeStatus+c.WatchEvent*(clusterReaders-1)) + leaderLeases*(c.Get+c.LeaseUpdate)
	memory := c.Rest + count*c.Node + pods*c.Pod + pods*clusterEvents*c.Object
	name := func(what string) string { return fmt.Sprintf("%.0f nodes and %.0f pods: %s", count, pods, what) }
	return []Check{
		{name("CPU time until the pods run"), "s", started[1], pods * perPod / 1000},
		{name(fmt.Sprintf("CPU time of %.0f s in which nothing changes", steady[0])), "s", steady[1], steady[0] * perSecond / 1000},
		{name("memory"), "MB", steady[2], memory},
	}, nil
}

// HollowChecks compares the model with the table of docs/costs.md about 1,000 nodes with agents that write no files. Each pod has a
// ConfigMap and a Secret.
func (c Costs) HollowChecks(page string) ([]Check, error) {
	const nodes, pods = 1000, 10_000
	var checks []Check
	for _, one := range []struct{ name, pattern string }{
		{"immutable objects", `immutable objects`},
		{"mutable objects", `mutable objects`},
		{"one watch for each object", `mutable objects, one watch each \(as on a kube-apiserver\)`},
	} {
		measured, err := row(page, one.pattern+` \| ([\d,]+) \| ([\d,]+) MB`)
		if err != nil {
			return nil, err
		}
		watches := measured[0]
		checks = append(checks, Check{
			Name: fmt.Sprintf("%d agents and %d pods: memory, %s", nodes, pods, one.name), Unit: "MB", Measured: measured[1],
			Predicted: c.Rest + nodes*c.Node + pods*c.Pod + 2*pods*c.Object + watches*c.Watch,
		})
	}
	return checks, nil
}

package scale

import (
	"fmt"
	"math"
)

// Layout is how servers and etcd are arranged.
type Layout struct {
	Name string
	// Share is the part of the clients that one server has after one of the servers failed.
	Share float64
	// embedded says that etcd is in the process of the server. It then keeps a number of revisions, otherwise those of some minutes.
	embedded bool
}

// OneServer is one server with its own etcd.
func OneServer() Layout { return Layout{Name: "one server", Share: 1, embedded: true} }

// ThreeServers are three servers on an etcd cluster. Two of them must carry everything.
func ThreeServers() Layout { return Layout{Name: "three servers", Share: 0.5} }

// The history of etcd.
const (
	embeddedRevisions = 12_500
	// The servers compact the history of an etcd cluster every five minutes, and leave what was written in the five minutes before.
	historySeconds = 600
)

// history returns the KB of old revisions.
func (l Layout) history(r rates) float64 {
	kilobytes := r.written() * historySeconds
	if l.embedded && r.writes() > 0 {
		return min(kilobytes, embeddedRevisions*r.written()/r.writes())
	}
	return kilobytes
}

// Machine is the size of a machine.
type Machine struct {
	Cores, MemoryGB float64
}

// String returns the size, as "8 cores, 32 GB".
func (m Machine) String() string { return fmt.Sprintf("%.0f cores, %.0f GB", m.Cores, m.MemoryGB) }

// Machines are the sizes on the page.
func Machines() []Machine { return []Machine{{2, 4}, {8, 32}, {32, 128}} }

// What a server may take from a machine and from etcd.
const (
	// cpuShare leaves time for lists of many objects and for restarts, and memoryShare memory for the page cache and for peaks.
	cpuShare    = 0.6
	memoryShare = 0.7
	// etcdWrites is the number of writes in one second that an etcd cluster with fast disks takes, and etcdMB its quota.
	etcdWrites = 10_000
	etcdMB     = 8 << 10
	// openFiles is the number of connections of a process.
	openFiles = 500_000
	// backSeconds is the time in which all clients must be back after a restart.
	backSeconds = 120
)

// Limit is a demand divided by what is there.
type Limit struct {
	Name string
	Used float64
}

// Limits returns the limits of a server on a machine.
func (d Demand) Limits(m Machine) []Limit {
	return []Limit{
		{"CPU", d.Cores / (cpuShare * m.Cores)},
		{"memory", d.Memory / (memoryShare * m.MemoryGB * 1024)},
		{"etcd writes", d.Writes / etcdWrites},
		{"etcd size", d.Stored / etcdMB},
		{"connections", d.Connections / openFiles},
		{"restart", d.Back / m.Cores / backSeconds},
	}
}

// describe returns a limit with the part of it that is used. It says so if most of the CPU time goes to watch events.
func (d Demand) describe(l Limit) string {
	name := l.Name
	if name == "CPU" && d.EventCores > d.Cores/2 {
		name = "CPU of watch events"
	}
	return name + ", " + percent(l.Used)
}

// First returns the limit that comes first.
func First(limits []Limit) Limit {
	first := limits[0]
	for _, l := range limits {
		if l.Used > first.Used {
			first = l
		}
	}
	return first
}

// Capacity returns the highest number of nodes, in steps of 1 %, that a layout carries on a machine, and the limit that stops it.
func (c Costs) Capacity(l Load, layout Layout, m Machine) (nodes float64, stops Limit) {
	fits := func(nodes float64) (Limit, bool) {
		l.Nodes = nodes
		first := First(c.Demand(l, layout).Limits(m))
		return first, first.Used <= 1
	}
	if first, ok := fits(0); !ok {
		return 0, first
	}
	low, high := 0.0, 1.0
	for _, ok := fits(high); ok && high < 1e9; _, ok = fits(high) {
		low, high = high, 2*high
	}
	for high-low > math.Max(1, low/100) {
		middle := (low + high) / 2
		if _, ok := fits(middle); ok {
			low = middle
		} else {
			high = middle
		}
	}
	stops, _ = fits(high)
	return math.Floor(low), stops
}

// cellsFor returns the number of cells for a number of nodes.
func cellsFor(nodes, perCell float64) float64 { return math.Ceil(nodes / perCell) }

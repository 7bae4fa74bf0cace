package scale

import (
	"errors"

	"holdfast.dev/holdfast/bench/compare"
)

// Costs are what work costs one server, with the etcd in its process. Times are milliseconds of CPU time, memory is in MB.
type Costs struct {
	// Idle is the CPU time of one second at rest, and Rest the memory.
	Idle, Rest float64
	// The CPU time of one request.
	LeaseUpdate, NodeStatus, PodCreate, PodStatus, EventCreate, Get, Update, CustomGet, CustomPatch float64
	// ListedObject is the CPU time of one object in a list, and WatchEvent that of one event of one watch.
	ListedObject, WatchEvent float64
	// Return is the CPU time of a node that connects to a restarted server, and watches its pods.
	Return float64
	// The memory of one connected node, one pod, one custom resource, and one watch of an object.
	Node, Pod, Object, Watch float64
	// Unused is the memory of a definition that no client uses, and Used that of one in use.
	Unused, Used float64
	// Ready is the CPU time of a start. It grows with each definition and with each object.
	Ready, ReadyDefinition, ReadyObject float64
	// FirstList is the CPU time of the first request for the objects of a definition.
	FirstList float64
}

// reader reads rows, and collects the errors about rows that are missing.
type reader struct {
	figures *compare.Figures
	errs    []error
}

func (r *reader) value(section, name string) float64 {
	value, err := r.figures.Value(section, name)
	r.errs = append(r.errs, err)
	return value
}

// last returns the row with the highest number.
func (r *reader) last(section, pattern string) compare.Point {
	points, err := r.figures.Points(section, pattern)
	r.errs = append(r.errs, err)
	if err != nil {
		return compare.Point{N: 1}
	}
	return points[len(points)-1]
}

// each returns the value of one of the things that the name of a row counts.
func (r *reader) each(section, pattern string) float64 {
	p := r.last(section, pattern)
	return max(0, p.Value) / float64(p.N)
}

// above returns by how much one of the things that the name of a row counts raises a value above that without any.
func (r *reader) above(base float64, section, pattern string) float64 {
	p := r.last(section, pattern)
	return max(0, p.Value-base) / float64(p.N)
}

// slope returns by how much one more of the things raises the value, between the lowest and the highest number.
func (r *reader) slope(section, pattern string) float64 {
	points, err := r.figures.Points(section, pattern)
	if err == nil && len(points) < 2 {
		err = errors.New("one row cannot show the growth of " + section + ": " + pattern)
	}
	r.errs = append(r.errs, err)
	if err != nil {
		return 0
	}
	first, last := points[0], points[len(points)-1]
	return max(0, last.Value-first.Value) / float64(last.N-first.N)
}

// ReadCosts takes the costs from the rows of figures. The error names the rows that are missing.
func ReadCosts(figures *compare.Figures) (Costs, error) {
	r := &reader{figures: figures}
	const clients, nodes, objects, definitions = "16 clients", "nodes and pods", "growth with the objects", "definitions"
	c := Costs{
		Idle: r.value("start", "CPU time of a second at rest"), Rest: r.value("memory", "at rest"),
		LeaseUpdate: r.value(nodes, "Lease update"), NodeStatus: r.value(nodes, "Node status patch"),
		PodCreate: r.value(nodes, "Pod create"), PodStatus: r.value(nodes, "Pod status patch"), EventCreate: r.value(nodes, "Event create"),
		Get: r.value(clients, "ConfigMap get"), Update: r.value(clients, "ConfigMap update"),
		CustomGet: r.value(clients, "get"), CustomPatch: r.value(clients, "merge patch"),
		ListedObject: r.each(clients, "list of #"),
		Return:       r.value(nodes, "CPU time until a node is back after a restart"),
		Node:         r.each(nodes, "memory added by # nodes"), Pod: r.each(nodes, "memory added by # pods"),
		Object: r.slope(objects, "memory after a list of # objects"), Watch: r.each("memory", "added by # watches of one ConfigMap"),
		Ready: r.value("start", "CPU time to ready, first start"), ReadyObject: r.slope(objects, "CPU time to ready, # objects"),
		FirstList: r.last(definitions, "CPU time of the first list of a definition, of # definitions").Value,
	}
	// A change that goes to many watches is one patch by one client.
	c.WatchEvent = r.above(r.value("1 client", "merge patch"), "watches", "change that goes to # watches")
	c.Unused = r.above(c.Rest, definitions, "memory after a start with # definitions that no client uses")
	c.Used = r.above(c.Rest, definitions, "memory when all of # definitions are in use")
	c.ReadyDefinition = r.above(c.Ready, definitions, "CPU time to ready, with # definitions")
	return c, errors.Join(r.errs...)
}

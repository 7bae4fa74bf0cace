package scale

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/holdfast/bench/compare"
	"holdfast.dev/holdfast/bench/scalerun"
)

// costs are plain numbers, with which a reader can check a demand by hand.
func costs() Costs {
	return Costs{
		Idle: 10, Rest: 200, LeaseUpdate: 2, NodeStatus: 4, PodCreate: 5, PodStatus: 4, EventCreate: 2, Get: 1, Update: 2,
		CustomGet: 1, CustomPatch: 10, ListedObject: 0.02, WatchEvent: 0.1, Return: 5, Node: 0.2, Pod: 0.1, Object: 0.03, Watch: 0.04,
		Unused: 0.2, Used: 2, Ready: 1000, ReadyDefinition: 4, ReadyObject: 0.02, FirstList: 20,
	}
}

// values returns the numbers of a demand.
func (d Demand) values() map[string]float64 {
	return map[string]float64{
		"cores": d.Cores, "memory": d.Memory, "writes": d.Writes, "stored": d.Stored, "events": d.Events, "watches": d.Watches,
		"connections": d.Connections, "back": d.Back,
	}
}

// A load without nodes and definitions is a server at rest.
func TestDemandAtRest(t *testing.T) {
	d := costs().Demand(Load{Profile: Agents()}, OneServer())
	if d.Cores != 0.01 || d.Memory != 200 || d.Writes != 0 || d.Stored != 0 || d.Back != 1 {
		t.Errorf("demand at rest: %+v", d)
	}
}

// The units are right: 1,000 nodes that only renew their leases, every 10 s, make 100 writes in a second. Each costs 2 ms, and 0.1 ms for
// the event that the node controller gets.
func TestDemandOfLeases(t *testing.T) {
	only := Profile{LeaseSeconds: 10, StatusSeconds: math.Inf(1), TokenSeconds: 1, Watches: 1, Connections: 1}
	d := costs().Demand(Load{Nodes: 1000, Profile: only}, OneServer())
	for name, want := range map[string]float64{
		"writes": 100, "cores": 0.01 + 100*0.0021, "memory": 200 + 1000*0.2, "watches": 1000, "connections": 1000, "back": 1 + 1000*0.005,
	} {
		if got := d.values()[name]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s %v, want %v", name, got, want)
		}
	}
}

// More nodes, pods, definitions or watches never need less of anything, and a profile with more watches never carries more nodes.
func TestMonotone(t *testing.T) {
	for _, layout := range []Layout{OneServer(), ThreeServers()} {
		for _, profile := range []Profile{Agents(), ImmutableKubelets(), Kubelets()} {
			load := Load{Nodes: 10, Definitions: 10, Profile: profile}
			grow := map[string]func(*Load){
				"nodes":       func(l *Load) { l.Nodes *= 3 },
				"definitions": func(l *Load) { l.Definitions *= 3 },
				"pods":        func(l *Load) { l.Profile.Pods *= 3 },
				"watches":     func(l *Load) { l.Profile.ObjectWatches *= 3 },
			}
			for name, more := range grow {
				l := load
				for before := costs().Demand(l, layout); l.Nodes < 1e6 && l.Definitions < 1e5 && l.Profile.Pods < 1e5 && l.Profile.ObjectWatches < 1e5; {
					more(&l)
					after := costs().Demand(l, layout)
					for what, value := range after.values() {
						if value < before.values()[what] {
							t.Fatalf("%s, %s: more %s need less %s: %v, before %v", layout.Name, profile.Name, name, what, value, before.values()[what])
						}
					}
					before = after
				}
			}
		}
	}
}

// A larger machine carries as many nodes or more, and the capacity is the highest number that fits.
func TestCapacity(t *testing.T) {
	for _, layout := range []Layout{OneServer(), ThreeServers()} {
		for _, profile := range []Profile{Agents(), Kubelets()} {
			load, smaller := Load{Definitions: 100, Profile: profile}, 0.0
			for _, m := range Machines() {
				nodes, stops := costs().Capacity(load, layout, m)
				if nodes < smaller {
					t.Errorf("%s, %s, %+v: %v nodes, the smaller machine %v", layout.Name, profile.Name, m, nodes, smaller)
				}
				smaller = nodes
				load.Nodes = nodes
				if first := First(costs().Demand(load, layout).Limits(m)); first.Used > 1 {
					t.Errorf("%v nodes do not fit: %+v", nodes, first)
				}
				load.Nodes = nodes*1.02 + 2
				if first := First(costs().Demand(load, layout).Limits(m)); first.Used <= 1 || first.Name != stops.Name {
					t.Errorf("%v nodes still fit, or another limit than %s stops them: %+v", load.Nodes, stops.Name, first)
				}
			}
		}
	}
	tooSmall := Machine{Cores: 1, MemoryGB: 0.1}
	if nodes, stops := costs().Capacity(Load{Profile: Agents()}, OneServer(), tooSmall); nodes != 0 || stops.Name != "memory" {
		t.Errorf("a machine without memory carries %v nodes, stopped by %s", nodes, stops.Name)
	}
}

// One of three servers has less work than a single one, and all objects.
func TestThreeServers(t *testing.T) {
	load := Load{Nodes: 1000, Definitions: 100, Profile: Kubelets()}
	one, three := costs().Demand(load, OneServer()), costs().Demand(load, ThreeServers())
	if three.Cores >= one.Cores || three.Watches >= one.Watches || three.Writes != one.Writes {
		t.Errorf("one server %+v, one of three %+v", one, three)
	}
	objects := load.pods() * (costs().Pod + 2*costs().Object)
	if three.Memory < objects {
		t.Errorf("one of three has %v MB, but all objects have %v MB", three.Memory, objects)
	}
	if three.Stored <= one.Stored {
		t.Errorf("an etcd cluster has the history of minutes: %v MB, embedded %v MB", three.Stored, one.Stored)
	}
}

func TestChecks(t *testing.T) {
	cluster := `
| phase | server | time | CPU time | memory | peak |
| 100 nodes become ready | Holdfast | 3.9 s | 2.5 s | 214 MB | 214 MB |
| 3000 pods run | kube-apiserver | 1.0 s | 1.0 s | 1 MB | 1 MB |
| 3000 pods run | Holdfast | 71.4 s | 46.4 s | 557 MB | 633 MB |
| nothing changes for 2m0s | Holdfast | 120.0 s | 9.1 s | 559 MB | 559 MB |
`
	checks, err := costs().ClusterChecks(cluster)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{46.4, 9.1, 559} {
		if checks[i].Measured != want {
			t.Errorf("%s: measured %v, want %v", checks[i].Name, checks[i].Measured, want)
		}
	}
	// 5 ms to create a pod, twice 4 ms for its status, twice 2 ms for events, and 15 events of watches.
	if got, want := checks[0].Predicted, 3*(5+8+4+1.5); math.Abs(got-want) > 1e-9 {
		t.Errorf("predicted %v s, want %v", got, want)
	}
	if _, err := costs().ClusterChecks("nothing"); err == nil {
		t.Error("a page without the table has checks")
	}
	hollow, err := costs().HollowChecks(`
| mutable objects | 2,000 | 1,615 MB | 55 s |
| immutable objects | 0 | 1,172 MB | 54 s |
| mutable objects, one watch each (as on a kube-apiserver) | 20,000 | 3,961 MB | 86 s |
`)
	if err != nil {
		t.Fatal(err)
	}
	if hollow[0].Measured != 1172 || hollow[2].Measured != 3961 || hollow[2].Predicted-hollow[0].Predicted != 20_000*0.04 {
		t.Errorf("checks %+v", hollow)
	}
}

// A missing row is named.
func TestReadCosts(t *testing.T) {
	_, err := ReadCosts(&compare.Figures{})
	if err == nil || !strings.Contains(err.Error(), "nodes and pods: Lease update") {
		t.Errorf("figures without rows: %v", err)
	}
}

// The page has a row for each number of nodes and definitions, and no number that is none.
func TestMarkdown(t *testing.T) {
	checks := []Check{{Name: "memory", Unit: "MB", Measured: 100, Predicted: 120}}
	page := costs().Markdown(checks, nil, Plots{Agents: "scale/agents.svg", Kubelets: "scale/kubelets.svg"})
	for _, want := range []string{
		"| 1,000 | agents |", "takes 5.0 MB of memory: its pods 3.0 MB, their ConfigMaps and Secrets 1.8 MB, and the node with its watches 250 KB", "| 100,000 | kubelets |", "| 5,000 | 1,500 | 30,000 |", "| CPU of watch events, ", "| memory | 100 MB | 120 MB | 1.20 |",
		"](scale/agents.svg)", "by a factor of 1.2 at most",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	for _, wrong := range []string{"NaN", "Inf", "%!", " | -"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page has %q:\n%s", wrong, page)
		}
	}
	for _, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "|") && len(line) > 160 && !strings.HasPrefix(line, "![") {
			t.Errorf("long line: %s", line)
		}
	}
}

// measuredRun is a run with 10 nodes and 100 pods of which a reader can check the computation by hand.
func measuredRun() *scalerun.Result {
	settings := scalerun.Full(10, 100)
	settings.Readers, settings.Configs = 1, 5
	return &scalerun.Result{CPUs: 2, Memory: 24_000, Command: "make scale-run", Settings: settings, Sides: []*scalerun.Side{
		{Name: "Holdfast", Version: "v1", Pods: 100, Phases: []*scalerun.Phase{
			{Name: scalerun.Start, Seconds: 10, CPU: 4, Events: 1000, Requests: []scalerun.Requests{
				{Verb: "create", Resource: "pods", Latency: scalerun.Latency{Count: 100}},
				{Verb: "create", Resource: "pods/binding", Latency: scalerun.Latency{Count: 100}},
				{Verb: "patch", Resource: "pods/status", Latency: scalerun.Latency{Count: 100}},
				{Verb: "list and watch", Resource: "pods of a node", Objects: 500, Latency: scalerun.Latency{Count: 10}},
			}},
			// 33 watches: 3 of the reader, and 3 of each node.
			{Name: scalerun.Steady, Seconds: 100, CPU: 2, Memory: 210, Watches: 33},
		}},
		{Name: "kube-apiserver", Version: "v2", Pods: 100, Note: "Little memory."},
	}}
}

// The computation for a run is a sum of its requests, or follows from what its nodes do, and the page has it beside the measurement.
func TestRunChecks(t *testing.T) {
	checks := costs().RunChecks(measuredRun())
	want := []Check{
		// 10 s at rest; 5, 4 and 4 ms for each pod; 10 lists of 1 ms with 500 objects of 0.02 ms; 1,000 events of 0.1 ms.
		{Measured: 4, Predicted: (10*10 + 100*13 + 10 + 10 + 100) / 1000.},
		// 100 s of: 10 ms at rest; a lease in a second, of 2 ms with one event; 10 statuses in 300 s, of 4 ms with two events.
		{Measured: 2, Predicted: 100 * (10 + 2.1 + 4.2/30) / 1000},
		// 200 MB at rest, 10 nodes, 100 pods, 20 objects and 20 watches more than one for each node.
		{Measured: 210, Predicted: 200 + 10*0.2 + 100*0.1 + 20*0.03 + 20*0.04},
	}
	if len(checks) != len(want) {
		t.Fatalf("%d checks, want %d: %+v", len(checks), len(want), checks)
	}
	for i, one := range checks {
		if one.Measured != want[i].Measured || math.Abs(one.Predicted-want[i].Predicted) > 1e-9 {
			t.Errorf("%s: measured %v, computed %v; want %v and %v", one.Name, one.Measured, one.Predicted, want[i].Measured, want[i].Predicted)
		}
	}
	page := costs().Markdown(nil, measuredRun(), Plots{})
	for _, want := range []string{
		"\n## Measured\n", "except the section [Measured](#measured)", "kube-apiserver (v2) ran 100 pods on them. Little memory.",
		"| 10 nodes and 100 pods: CPU time until the pods run | 4.0 s | 1.5 s | 0.38 |", "\n1 of 3 are within 20 %.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	for _, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "|") && len(line) > 160 && !strings.HasPrefix(line, "![") {
			t.Errorf("long line: %s", line)
		}
	}
	if none := costs().RunChecks(nil); none != nil {
		t.Errorf("without a run: %+v", none)
	}
}

func TestPlot(t *testing.T) {
	for _, profile := range []Profile{Agents(), Kubelets()} {
		plot := costs().Plot(profile, OneServer(), Machines()[1])
		decoder := xml.NewDecoder(strings.NewReader(plot))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range limitNames(costs()) {
			if !strings.Contains(plot, ">"+name+"</text>") {
				t.Errorf("no line for %s:\n%s", name, plot)
			}
		}
		if len(colours()) != len(limitNames(costs())) || slices.Contains(colours(), "") {
			t.Error("a limit has no colour")
		}
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		thousands(1234567): "1,234,567", thousands(999): "999", short(0.123): "0.12", short(12.6): "13", short(1234): "1,200",
		size(0.5): "510 KB", size(500): "500 MB", size(2048): "2.0 GB", duration(90): "90 s", duration(600): "10 min", percent(1.5): "150 %",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

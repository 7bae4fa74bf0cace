package scale

import (
	"fmt"
	"math"
	"strings"

	"holdfast.dev/holdfast/bench/scalerun"
)

// plotDefinitions is the number of definitions in the tables and plots about nodes.
const plotDefinitions = 100

// Plots are the links to the plots: of one server with agents, and with kubelets.
type Plots struct{ Agents, Kubelets string }

// Markdown returns the page. Without a run, which is nil then, it has no measurement.
func (c Costs) Markdown(checks []Check, run *scalerun.Result, plots Plots) string {
	var b strings.Builder
	b.WriteString(introduction(run != nil))
	b.WriteString("\n## How many nodes\n\n" + c.capacityText())
	fmt.Fprintf(&b, "\n## Which limit comes first\n\n%s\n![Limits of one server with agents](%s)\n\n![Limits of one server with kubelets](%s)\n",
		c.nodesTable(), plots.Agents, plots.Kubelets)
	b.WriteString("\n## Definitions\n\n" + c.definitionsTable())
	b.WriteString("\n## Which metric shows a limit\n\n" + c.metricsTable())
	b.WriteString("\n## Three servers on an etcd cluster\n\n" + threeServers)
	b.WriteString("\n## Cells\n\n" + c.cells())
	if run != nil {
		b.WriteString("\n## Measured\n\n" + measuredText(run, c.RunChecks(run)))
	}
	b.WriteString("\n## How well the model predicts\n\n" + checkTable(checks))
	b.WriteString("\n## The model\n\n" + c.model())
	return b.String()
}

// capacityText returns the table of the numbers of nodes that machines carry.
func (c Costs) capacityText() string {
	var b strings.Builder
	b.WriteString("| machine | nodes with | one server | three servers |\n|---|---|---|---|\n")
	for _, m := range Machines() {
		for _, p := range []Profile{Agents(), ImmutableKubelets(), Kubelets()} {
			cells := []string{m.String(), p.Name}
			for _, layout := range []Layout{OneServer(), ThreeServers()} {
				nodes, stops := c.Capacity(Load{Definitions: plotDefinitions, Profile: p}, layout, m)
				cells = append(cells, fmt.Sprintf("%s (%s)", thousands(rounded(nodes)), stops.Name))
			}
			b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		}
	}
	fmt.Fprintf(&b, `
The limit that stops the growth is in brackets. Each node has %.0f pods, and there are %d definitions. With three servers, each
machine is of this size, and two of them carry everything while one is down. etcd then runs on machines of its own.
`, Agents().Pods, plotDefinitions)
	return b.String()
}

// nodesTable returns what numbers of nodes take from a server.
func (c Costs) nodesTable() string {
	var b strings.Builder
	b.WriteString("| nodes | with | cores | memory | etcd writes | etcd size | watch events | watches | back after a restart |")
	for _, m := range Machines()[1:] {
		fmt.Fprintf(&b, " first limit, %s |", m)
	}
	b.WriteString("\n|--:|---|--:|--:|--:|--:|--:|--:|--:|---|---|\n")
	for _, nodes := range []float64{1_000, 10_000, 100_000} {
		for _, p := range []Profile{Agents(), ImmutableKubelets(), Kubelets()} {
			d := c.Demand(Load{Nodes: nodes, Definitions: plotDefinitions, Profile: p}, OneServer())
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s/s | %s | %s/s | %s | %s |", thousands(nodes), p.Name, short(d.Cores),
				size(d.Memory), thousands(rounded(d.Writes)), size(d.Stored), thousands(rounded(d.Events)), thousands(rounded(d.Watches)),
				duration(d.Back/Machines()[1].Cores))
			for _, m := range Machines()[1:] {
				fmt.Fprintf(&b, " %s |", d.describe(First(d.Limits(m))))
			}
			b.WriteString("\n")
		}
	}
	agents, kubelets := c.perNode(Agents()), c.perNode(Kubelets())
	fmt.Fprintf(&b, `
This is one server. A percentage above 100 says that the machine cannot carry the nodes. The time after a restart is for %s.

A node with an agent takes %s of memory: its pods %s, their ConfigMaps and Secrets %s, and the node with its watches %s.
With a kubelet that watches mutable objects, the last part is %s. So fewer pods on a node mean more nodes, and immutable objects save
most of the watches.
`, Machines()[1], size(agents.sum()), size(agents.pods), size(agents.configs), size(agents.node), size(kubelets.node))
	return b.String()
}

// definitionsTable returns what numbers of definitions take from a server without nodes.
func (c Costs) definitionsTable() string {
	var b strings.Builder
	b.WriteString("| definitions | in use | objects | memory | cores | etcd writes | ready, CPU time | first limit |\n" +
		"|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for _, definitions := range []float64{100, 1_000, 5_000} {
		l := Load{Definitions: definitions, Profile: Agents()}
		d := c.Demand(l, OneServer())
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s/s | %s | %s |\n", thousands(definitions), thousands(l.used()),
			thousands(l.customObjects()), size(d.Memory), short(d.Cores), short(d.Writes),
			duration((c.Ready+c.ReadyDefinition*definitions)/1000), d.describe(First(d.Limits(Machines()[0]))))
	}
	fmt.Fprintf(&b, `
The percentage is of a machine with %.0f cores and %.0f GB, and there are no nodes. A definition that no client uses takes %s, and one in
use %s, without its objects. The CPU time until ready is without objects.
`, Machines()[0].Cores, Machines()[0].MemoryGB, size(c.Unused), size(c.Used))
	return b.String()
}

// checkTable returns the measurements that were not used, beside what the model says.
func checkTable(checks []Check) string {
	var b strings.Builder
	b.WriteString("| | measured | predicted | predicted / measured |\n|---|--:|--:|--:|\n")
	worst := 1.0
	for _, one := range checks {
		fmt.Fprintf(&b, "| %s | %s %s | %s %s | %.2f |\n", one.Name, short(one.Measured), one.Unit, short(one.Predicted), one.Unit, one.Ratio())
		worst = math.Max(worst, math.Max(one.Ratio(), 1/one.Ratio()))
	}
	fmt.Fprintf(&b, `
None of these measurements is in the model. The first rows are those of Holdfast in [cluster.md](cluster.md#what-the-server-uses), the
others those of [costs.md](costs.md#many-nodes). The model is wrong by a factor of %.1f at most here. Keep that much room.
`, worst)
	return b.String()
}

// rounded returns a number with two digits that matter.
func rounded(value float64) float64 {
	if value < 10 {
		return math.Round(value)
	}
	step := math.Pow(10, math.Floor(math.Log10(value))-1)
	return math.Round(value/step) * step
}

// thousands returns a whole number with commas.
func thousands(value float64) string {
	text := fmt.Sprintf("%.0f", value)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// short returns a value with two digits that matter.
func short(value float64) string {
	switch {
	case value >= 10:
		return thousands(rounded(value))
	case value >= 1:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}

// size returns an amount of memory.
func size(megabytes float64) string {
	switch {
	case megabytes >= 1000:
		return short(megabytes/1024) + " GB"
	case megabytes >= 1:
		return short(megabytes) + " MB"
	default:
		return short(megabytes*1024) + " KB"
	}
}

func duration(seconds float64) string {
	if seconds >= 120 {
		return short(seconds/60) + " min"
	}
	return short(seconds) + " s"
}

func percent(part float64) string { return short(100*part) + " %" }

package scale

import (
	"fmt"
	"math"
	"strings"
)

// The layout of a plot, in pixels. Both axes are logarithmic.
const (
	plotWidth, plotHeight = 860, 380
	left, right, top      = 70, 690, 40
	bottom                = 330
	// The nodes on the horizontal axis and the parts of a limit on the vertical one.
	fewestNodes, mostNodes = 100.0, 100_000.0
	lowest, highest        = 0.01, 10.0
)

// Plot draws how much of each limit a layout uses on a machine, from 100 to 100,000 nodes.
func (c Costs) Plot(profile Profile, layout Layout, m Machine) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n", plotWidth, plotHeight)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="22">%s, %.0f cores and %.0f GB, %s: part of each limit that is used</text>`+"\n",
		left, layout.Name, m.Cores, m.MemoryGB, profile.Name)
	for nodes := fewestNodes; nodes <= mostNodes; nodes *= 10 {
		fmt.Fprintf(&b, `<path d="M%d %d V%d" stroke="#e0e0e0"/><text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n",
			across(nodes), top, bottom, across(nodes), bottom+20, thousands(nodes))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">nodes</text>`+"\n", (left+right)/2, bottom+40)
	for part := lowest; part <= highest*1.01; part *= 10 {
		stroke := "#e0e0e0"
		if math.Abs(part-1) < 0.01 {
			stroke = "#c62828"
		}
		fmt.Fprintf(&b, `<path d="M%d %d H%d" stroke="%s"/><text x="%d" y="%d" text-anchor="end">%s %%</text>`+"\n",
			left, up(part), right, stroke, left-8, up(part)+5, thousands(100*part))
	}
	for i, name := range limitNames(c) {
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", c.path(i, profile, layout, m), colours()[i])
		y := top + 20 + 22*i
		fmt.Fprintf(&b, `<path d="M%d %d h24" stroke="%s" stroke-width="3"/><text x="%d" y="%d">%s</text>`+"\n",
			right+16, y-4, colours()[i], right+48, y, name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func colours() []string {
	return []string{"#1565c0", "#6a1b9a", "#2e7d32", "#ef6c00", "#9e9e9e", "#00838f"}
}

func limitNames(c Costs) []string {
	var names []string
	for _, l := range c.Demand(Load{Profile: Agents()}, OneServer()).Limits(Machines()[0]) {
		names = append(names, l.Name)
	}
	return names
}

// path returns the line of one limit, as far as it is on the plot.
func (c Costs) path(limit int, profile Profile, layout Layout, m Machine) string {
	var points []string
	for step := range 61 {
		nodes := fewestNodes * math.Pow(mostNodes/fewestNodes, float64(step)/60)
		used := c.Demand(Load{Nodes: nodes, Definitions: plotDefinitions, Profile: profile}, layout).Limits(m)[limit].Used
		if used < lowest || used > highest {
			continue
		}
		points = append(points, fmt.Sprintf("%d %d", across(nodes), up(used)))
	}
	if len(points) == 0 {
		return "M0 0"
	}
	return "M" + strings.Join(points, " L")
}

// across and up return the place of a value on an axis.
func across(nodes float64) int {
	return left + int(math.Round((right-left)*math.Log(nodes/fewestNodes)/math.Log(mostNodes/fewestNodes)))
}

func up(part float64) int {
	return bottom - int(math.Round((bottom-top)*math.Log(part/lowest)/math.Log(highest/lowest)))
}

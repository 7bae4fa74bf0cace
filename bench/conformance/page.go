package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Page is what the page of the results is made of.
type Page struct {
	// Names are the names of the conformance list.
	Names []string
	// Containers are the tests that need containers, with the reasons.
	Containers map[string]string
	// Simulated are the tests that ran on simulated nodes.
	Simulated map[string]bool
	Results   Results
	// Here and There are the names of the sides.
	Here, There string
	// Version is the version of Kubernetes, such as "1.36.3".
	Version string
}

// needsContainers is the verdict of a test that does not run.
const needsContainers Verdict = "needs containers"

// verdict returns the verdict of a test on a side. It is empty if the test has not run.
func (p *Page) verdict(name, sideName string) Verdict {
	if p.Containers[name] != "" {
		return needsContainers
	}
	return p.Results[name][sideName].Verdict
}

// Missing returns the tests that have not run on both sides.
func (p *Page) Missing() []string {
	return slices.DeleteFunc(slices.Clone(p.Names), func(name string) bool {
		return p.verdict(name, p.Here) != "" && p.verdict(name, p.There) != ""
	})
}

// Unknown returns the tests of the lists of this package that the conformance list does not have.
func (p *Page) Unknown() []string {
	listed := slices.Concat(slices.Collect(maps.Keys(p.Containers)), slices.Collect(maps.Keys(p.Simulated)))
	slices.Sort(listed)
	return slices.DeleteFunc(listed, func(name string) bool { return slices.Contains(p.Names, name) })
}

// Defects returns the tests that pass on the other side only.
func (p *Page) Defects() []string {
	return slices.DeleteFunc(slices.Clone(p.Names), func(name string) bool {
		return p.verdict(name, p.There) != Passed || p.verdict(name, p.Here) == Passed
	})
}

// Counts returns a line with the number of tests by verdict, for each side.
func (p *Page) Counts() string {
	var lines strings.Builder
	for _, sideName := range []string{p.Here, p.There} {
		counts := map[Verdict]int{}
		for _, name := range p.Names {
			counts[p.verdict(name, sideName)]++
		}
		fmt.Fprintf(&lines, "%s:", sideName)
		for _, verdict := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&lines, " %d %s;", counts[verdict], cmp.Or(string(verdict), "not run"))
		}
		lines.WriteString("\n")
	}
	return lines.String()
}

// Markdown returns the page.
func (p *Page) Markdown() string {
	var page strings.Builder
	p.writeHead(&page)
	p.writeCounts(&page)
	p.writeRun(&page)
	p.writeTests(&page)
	p.writeContainers(&page)
	return page.String()
}

// writeHead writes what the reader gets.
func (p *Page) writeHead(page *strings.Builder) {
	fmt.Fprintf(page, `# Conformance

<!-- make conformance writes this page. -->

The conformance list of Kubernetes %s has %d tests. %d of them need real containers. The others ran on %s and on %s, each with
kube-controller-manager, kube-scheduler and nodes without a container runtime.

`, p.Version, len(p.Names), len(p.Containers), p.Here, p.There)
	defects := p.Defects()
	if len(defects) == 0 {
		fmt.Fprintf(page, "Every test that passes on %s passes on %s.\n\n", p.There, p.Here)
		return
	}
	fmt.Fprintf(page, "%d tests pass on %s and not on %s:\n\n", len(defects), p.There, p.Here)
	for _, name := range defects {
		message, _, _ := strings.Cut(p.Results[name][p.Here].Message, "\n")
		fmt.Fprintf(page, "- %s: `%s`\n", escape(name), message)
	}
	page.WriteString("\n")
}

// writeCounts writes a table with a line for each group.
func (p *Page) writeCounts(page *strings.Builder) {
	type counts struct{ all, containers, here, there int }
	byGroup := map[string]*counts{"all": {}}
	for _, name := range p.Names {
		if byGroup[group(name)] == nil {
			byGroup[group(name)] = &counts{}
		}
		for _, c := range []*counts{byGroup["all"], byGroup[group(name)]} {
			c.all++
			if p.verdict(name, p.Here) == needsContainers {
				c.containers++
			}
			if p.verdict(name, p.Here) == Passed {
				c.here++
			}
			if p.verdict(name, p.There) == Passed {
				c.there++
			}
		}
	}
	fmt.Fprintf(page, "| group | tests | need containers | ran | pass on %s | pass on %s |\n|---|--:|--:|--:|--:|--:|\n", p.Here, p.There)
	for _, name := range slices.Sorted(maps.Keys(byGroup)) {
		c := byGroup[name]
		fmt.Fprintf(page, "| %s | %d | %d | %d | %d | %d |\n", name, c.all, c.containers, c.all-c.containers, c.here, c.there)
	}
	page.WriteString("\n")
}

package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// writeRun writes how the tests ran.
func (p *Page) writeRun(page *strings.Builder) {
	fmt.Fprintf(page, `## How the tests ran

%s

- The tests are those of `+"`k8s.io/kubernetes/test/e2e`"+` at version %s, unchanged. kube-controller-manager, kube-scheduler, kubemark, kubectl and
  kube-apiserver have this version too. `+"`bench/peer/go.mod`"+` has all versions.
- A test runs on *hollow* kubelets from kubemark, whose containers run until they are deleted, or on *simulated* nodes, where the
  containers of pods that are not restarted for ever end at once ([cluster.md](cluster.md)). The table says on which.
- A test *needs containers* if it reads the output, the exit code or the files of a container, or sends it requests. Such a test fails
  on kube-apiserver with these nodes, so it does not run. The [last section](#tests-that-need-containers) has the reason for each.
- Each cluster has four nodes. Serial tests run alone, the others several at a time. Each test has a time limit. The page has the last
  result of each test.

`, "`make conformance` builds the programs, runs all tests on both servers and writes this page. "+
		"`make conformance ARGS='-focus sig-apps'` runs some\nof the tests again.", p.Version)
}

// writeTests writes a table of the tests that ran.
func (p *Page) writeTests(page *strings.Builder) {
	fmt.Fprintf(page, "## Tests that ran\n\n| test | nodes | %s | %s |\n|---|---|---|---|\n", p.Here, p.There)
	for _, name := range p.Names {
		if p.Containers[name] != "" {
			continue
		}
		nodes := "hollow"
		if p.Simulated[name] {
			nodes = "simulated"
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", escape(name), nodes,
			cmp.Or(string(p.verdict(name, p.Here)), "not run"), cmp.Or(string(p.verdict(name, p.There)), "not run"))
	}
	page.WriteString("\n")
}

// writeContainers writes the tests that need containers, by reason.
func (p *Page) writeContainers(page *strings.Builder) {
	byReason := map[string][]string{}
	for _, name := range p.Names {
		if reason := p.Containers[name]; reason != "" {
			byReason[reason] = append(byReason[reason], name)
		}
	}
	page.WriteString("## Tests that need containers\n")
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		fmt.Fprintf(page, "\nThe test %s:\n\n", reason)
		for _, name := range byReason[reason] {
			fmt.Fprintf(page, "- %s\n", escape(name))
		}
	}
}

// escape returns a name as text in Markdown: brackets would be links, and bars would end the cell of a table.
func escape(name string) string {
	return strings.NewReplacer("[", `\[`, "]", `\]`, "|", `\|`, "*", `\*`, "<", `\<`).Replace(name)
}

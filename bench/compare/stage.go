package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// stage is a part of a run that has servers of its own. A run can have some of the stages only.
type stage struct {
	name string
	// about says what the stage measures, and minutes is how long it takes with the default settings on two idle CPUs.
	about   string
	minutes int
	run     func(*runner, context.Context) error
}

func stages() []stage {
	return []stage{
		{"requests", "requests of 1 and of 16 clients", 8, (*runner).requests},
		{"kinds", "writes of Secrets, Leases and events by 1 and 16 clients", 4, (*runner).kinds},
		{"nodes", "requests of nodes, and the memory of nodes and pods", 6, (*runner).nodes},
		{"fields", "growth with the fields of a custom resource", 2, (*runner).fields},
		{"watches", "a change that goes to many watches, also of whole namespaces with selectors", 2, (*runner).watches},
		{"starts", "the first start, memory at rest, memory of watches", 5, (*runner).starts},
		{"definitions", "many definitions; -definitions=300,2000 takes half an hour", 5, (*runner).definitions},
		{"changes", "changes of definitions, among as many as -definitions", 6, (*runner).changes},
		{"objects", "growth with the stored objects", 11, (*runner).objects},
		{"memory", "memory of a pod, a node and a ConfigMap, of as many as -stored", 12, (*runner).memory},
		{"informers", "memory of 16 informers that list 10,000 objects of 100 KB", 10, (*runner).informers},
		{"discovery", "the first command of kubectl with 370 group versions", 3, (*runner).discovery},
	}
}

// StageNames returns the names of the stages, in their order.
func StageNames() []string {
	var names []string
	for _, s := range stages() {
		names = append(names, s.name)
	}
	return names
}

// StageHelp describes the stages for the help of a flag.
func StageHelp() string {
	var b strings.Builder
	total := 0
	for _, s := range stages() {
		fmt.Fprintf(&b, "  %s, about %s: %s\n", s.name, plural(s.minutes, "minute"), s.about)
		total += s.minutes
	}
	fmt.Fprintf(&b, "all of them take about %s on two idle CPUs", plural(total, "minute"))
	return b.String()
}

// stageIndex returns the place of a stage in a run.
func stageIndex(name string) int { return slices.Index(StageNames(), name) }

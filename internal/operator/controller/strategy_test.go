package controller_test

import (
	"strings"
	"testing"
)

// TestStrategies checks which steps run while the first step waits forever, with serial
// and parallel phases and steps.
func TestStrategies(t *testing.T) {
	t.Parallel()
	c := start(t)
	const steps = `
templates:
  a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-a'}}"
  b.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-b'}}"
tasks:
- {name: wait, kind: Dummy}
- {name: a, kind: Apply, spec: {resources: [a.yaml]}}
- {name: b, kind: Apply, spec: {resources: [b.yaml]}}
plans:
  deploy:
    strategy: PHASES
    phases:
    - {name: first, strategy: STEPS, steps: [{name: wait, tasks: [wait]}, {name: a, tasks: [a]}]}
    - {name: second, steps: [{name: b, tasks: [b]}]}
`
	tests := map[string]struct {
		phases, steps string
		done          []string
		left          []string
	}{
		"serial":          {phases: "serial", steps: "serial", left: []string{"a", "b"}},
		"default":         {phases: "''", steps: "''", left: []string{"a", "b"}},
		"parallel-steps":  {phases: "serial", steps: "parallel", done: []string{"a"}, left: []string{"b"}},
		"parallel-phases": {phases: "parallel", steps: "serial", done: []string{"b"}, left: []string{"a"}},
		"parallel":        {phases: "parallel", steps: "parallel", done: []string{"a", "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c.operator(t, name, "0.1.0", strings.NewReplacer("PHASES", test.phases, "STEPS", test.steps).Replace(steps))
			c.install(t, name, name+"-0.1.0", nil)
			c.awaitMessage(t, name, "first.wait: task wait: the task is meant to wait")
			for _, step := range test.done {
				c.awaitObject(t, "configmaps", name+"-"+step)
			}
			for _, step := range test.left {
				if c.get(t, "configmaps", name+"-"+step) != nil {
					t.Errorf("step %s did not wait", step)
				}
			}
		})
	}
}

// TestTaskTwice checks that a task which a step lists twice is executed twice.
func TestTaskTwice(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "twice", "0.1.0", `
templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: twice}}"}
tasks: [{name: clean, kind: Delete, spec: {resources: [a.yaml]}}, {name: make, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [clean, make, clean]}]}]}}
`)
	c.install(t, "twice", "twice-0.1.0", nil)
	c.awaitComplete(t, "twice")
	if c.get(t, "configmaps", "twice") != nil {
		t.Error("the object that the last task deletes exists")
	}
}

package skeleton

import "holdfast.dev/holdfast/value"

// trail records what a walk through an object drops. With keeps set it also
// records the paths; without it, each step of the walk costs one test.
type trail struct {
	keeps   bool
	lossy   bool // something was dropped
	steps   []value.Step
	dropped []string // the paths of what was dropped
}

func (t *trail) enter(key string) {
	if t.keeps {
		t.steps = append(t.steps, value.Step{Name: key})
	}
}

func (t *trail) enterIndex(i int) {
	if t.keeps {
		t.steps = append(t.steps, value.Step{Kind: value.Index, Index: i})
	}
}

func (t *trail) leave() {
	if t.keeps {
		t.steps = t.steps[:len(t.steps)-1]
	}
}

func (t *trail) drop(key string) {
	t.lossy = true
	if t.keeps {
		t.enter(key)
		t.dropped = append(t.dropped, pathText(t.steps))
		t.leave()
	}
}

// pathText is a path as Kubernetes writes it in warnings: spec.ports[0].foo.
func pathText(steps []value.Step) string { return value.Notation{Kubernetes: true}.Steps(steps) }

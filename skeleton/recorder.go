package skeleton

import "holdfast.dev/holdfast/value"

// recorder records the keys that a walk through an object drops. It records their paths
// only if withPaths is set; otherwise each step of the walk costs one test.
type recorder struct {
	withPaths  bool
	hasDropped bool
	steps      []value.Step
	dropped    []string
}

func (t *recorder) enter(key string) {
	if t.withPaths {
		t.steps = append(t.steps, value.Step{Name: key})
	}
}

func (t *recorder) enterIndex(i int) {
	if t.withPaths {
		t.steps = append(t.steps, value.Step{Kind: value.Index, Index: i})
	}
}

func (t *recorder) leave() {
	if t.withPaths {
		t.steps = t.steps[:len(t.steps)-1]
	}
}

func (t *recorder) drop(key string) {
	t.hasDropped = true
	if t.withPaths {
		t.enter(key)
		t.dropped = append(t.dropped, pathText(t.steps))
		t.leave()
	}
}

// pathText returns a path as Kubernetes writes it in warnings: spec.ports[0].foo.
func pathText(steps []value.Step) string { return value.Notation{Kubernetes: true}.Steps(steps) }

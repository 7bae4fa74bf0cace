package skeleton

import (
	"strconv"
	"strings"
)

// trail is where a walk through an object is. One that does not keep paths
// records only whether anything was dropped, so a walk that nobody asks for
// paths pays one test per step.
type trail struct {
	keeps   bool
	lossy   bool // something was dropped
	steps   []trailStep
	dropped []string // the paths of it
}

// trailStep is a key, or an index where key is empty and isIndex is set.
type trailStep struct {
	key     string
	index   int
	isIndex bool
}

func (t *trail) enter(key string) {
	if t.keeps {
		t.steps = append(t.steps, trailStep{key: key})
	}
}

func (t *trail) enterIndex(i int) {
	if t.keeps {
		t.steps = append(t.steps, trailStep{index: i, isIndex: true})
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
		t.dropped = append(t.dropped, t.String())
		t.leave()
	}
}

// String is the path as Kubernetes writes it in warnings: spec.ports[0].foo.
func (t *trail) String() string {
	var b strings.Builder
	for _, s := range t.steps {
		if s.isIndex {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.key)
	}
	return b.String()
}

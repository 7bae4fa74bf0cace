package ahead

import (
	"sync"
	"time"

	"holdfast.dev/holdfast/internal/definition"
)

const (
	// Smallest is the number of bytes of schemas from which on a definition is large. A client hardly notices how long the server compiles
	// a smaller one.
	Smallest = 256 << 10
	// most is how many bytes of schemas a budget takes within a period.
	most = 8 << 20
	// period is the time after which package idle closes what no client has used.
	period = 10 * time.Minute
)

// Budget bounds what the server compiles ahead. It is safe for concurrent use.
type Budget struct {
	most int

	mu sync.Mutex
	// taken are the definitions of the last period, the oldest first.
	taken []taken
}

type taken struct {
	at    time.Time
	bytes int
}

func newBudget(most int) *Budget { return &Budget{most: most} }

// Takes reports whether the server shall compile a definition now, and remembers it then.
func (b *Budget) Takes(crd *definition.CustomResourceDefinition, now time.Time) bool {
	size := sizeOf(crd)
	if size < Smallest {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	total := size
	for len(b.taken) > 0 && now.Sub(b.taken[0].at) >= period {
		b.taken = b.taken[1:]
	}
	for _, before := range b.taken {
		total += before.bytes
	}
	if total > b.most {
		return false
	}
	b.taken = append(b.taken, taken{now, size})
	return true
}

// sizeOf returns the number of bytes of the schemas of a definition.
func sizeOf(crd *definition.CustomResourceDefinition) int {
	size := 0
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Schema != nil {
			size += len(v.Schema.OpenAPIV3Schema)
		}
	}
	return size
}

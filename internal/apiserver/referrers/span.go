package referrers

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// The number of spans of a fence. An etcd outside of the process allows 128 operations in a transaction by default, and the member in the process more.
const (
	maxSpans       = 100
	maxSpansInside = 4000
)

var nodes = schema.GroupResource{Resource: "nodes"}

// spansOf returns spans with the keys of all objects of some parts. If the parts are more than an etcd can compare, a span has those of several parts,
// and the keys between them. A write of a key that is in no part breaks the fence, and is no obstacle: the renewal of the fence reads only the parts.
func (x *Index) spansOf(parts []part) []etcd.Span {
	var spans []etcd.Span
	for _, p := range parts {
		// The server drops the reference of a node that had none. The many writes of nodes would break the fence.
		if p.Resource != nodes || p.refers {
			spans = append(spans, etcd.WithPrefix(p.Prefix()))
		}
	}
	limit := maxSpans
	if slices.Contains(x.config.Objects.Client.Endpoints(), etcd.InProcess) {
		limit = maxSpansInside
	}
	var builtIn []etcd.Span
	for resource := range x.config.Stores {
		builtIn = append(builtIn, etcd.WithPrefix(storage.Part{Resource: resource}.Prefix()))
	}
	return join(spans, builtIn, limit)
}

// join joins neighbours until there are at most as many spans as the limit. It prefers neighbours with few built-in kinds in them and in between,
// because these are written often, such as Events and Leases. Of those with equally many, it prefers neighbours with a long common beginning, such as
// those of the same API group.
func join(spans, builtIn []etcd.Span, limit int) []etcd.Span {
	slices.SortFunc(spans, func(a, b etcd.Span) int { return strings.Compare(a.First, b.First) })
	if len(spans) <= limit {
		return spans
	}
	// gap is the one behind a span.
	type gap struct{ behind, builtIn, common int }
	gaps := make([]gap, len(spans)-1)
	for i := range gaps {
		before, after := spans[i], spans[i+1]
		gaps[i] = gap{behind: i, common: common(before.First, after.First)}
		for _, other := range builtIn {
			if other.First < after.End && before.First < other.End {
				gaps[i].builtIn++
			}
		}
	}
	slices.SortStableFunc(gaps, func(a, b gap) int { return cmp.Or(cmp.Compare(a.builtIn, b.builtIn), cmp.Compare(b.common, a.common)) })
	closed := make([]bool, len(spans))
	for _, g := range gaps[:len(spans)-limit] {
		closed[g.behind] = true
	}
	joined := spans[:1]
	for i, span := range spans[1:] {
		if last := &joined[len(joined)-1]; closed[i] {
			last.End = max(last.End, span.End)
		} else {
			joined = append(joined, span)
		}
	}
	return joined
}

// common returns how many bytes two texts have in common at their beginning.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

package referrers

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/references"
)

// grants is the resource of ReferenceGrants, by which a namespace lets objects of other namespaces refer to its own.
var grants = schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "referencegrants"}

const (
	// maxGranted is how many entries each list of a grant may have. Gateway API allows 16. A longer one lets all namespaces refer to all objects.
	maxGranted = 64
	// maxFrom is how many namespaces the index tells apart that may refer to an object. If there are more, all may.
	maxFrom = 32
)

// grant is what a ReferenceGrant allows. The zero value allows nothing.
type grant struct {
	// from are namespaces. An empty one stands for all.
	from []string
	to   []granted
}

// granted are the objects of a kind that others may refer to. An empty name stands for all.
type granted struct {
	kind references.Kind
	name string
}

// grantOf reads a stored ReferenceGrant. One of another form allows nothing.
func grantOf(text []byte) grant {
	var stored struct {
		Spec struct {
			From []struct{ Namespace string }
			To   []struct{ Group, Kind, Name string }
		}
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return grant{}
	}
	if len(stored.Spec.From) > maxGranted || len(stored.Spec.To) > maxGranted {
		return grant{from: []string{""}, to: []granted{{kind: references.ConfigMap}, {kind: references.Secret}}}
	}
	var g grant
	for _, from := range stored.Spec.From {
		if references.MayBeName(from.Namespace) {
			g.from = append(g.from, from.Namespace)
		}
	}
	kinds := map[string]references.Kind{references.ConfigMap.String(): references.ConfigMap, references.Secret.String(): references.Secret}
	for _, to := range stored.Spec.To {
		if kind, ok := kinds[to.Kind]; ok && to.Group == "" {
			g.to = append(g.to, granted{kind, to.Name})
		}
	}
	return g
}

// grantTable has the grants of all namespaces. It counts how many grants let a namespace refer to objects.
type grantTable map[string]map[granted]map[string]int

// add adds a grant of a namespace, or removes it, if by is -1.
func (t grantTable) add(namespace string, g grant, by int) {
	for _, to := range g.to {
		for _, from := range g.from {
			if t[namespace] == nil {
				t[namespace] = map[granted]map[string]int{}
			}
			if t[namespace][to] == nil {
				t[namespace][to] = map[string]int{}
			}
			if t[namespace][to][from] += by; t[namespace][to][from] == 0 {
				delete(t[namespace][to], from)
			}
		}
		if len(t[namespace][to]) == 0 {
			delete(t[namespace], to)
		}
	}
	if len(t[namespace]) == 0 {
		delete(t, namespace)
	}
}

// from returns the namespaces whose objects may refer to an object of another one. all is true if all may.
func (t grantTable) from(kind references.Kind, namespace, name string) (some []string, all bool) {
	for _, to := range []granted{{kind, ""}, {kind, name}} {
		for from := range t[namespace][to] {
			if some = append(some, from); from == "" || len(some) > maxFrom {
				return nil, true
			}
		}
	}
	return some, false
}

// setGrant replaces a ReferenceGrant. The caller holds the lock.
func (x *Index) setGrant(object names, g grant) {
	before, existed := x.grants[object]
	if !existed && len(g.from)*len(g.to) == 0 || slices.Equal(before.from, g.from) && slices.Equal(before.to, g.to) {
		return
	}
	x.granted.add(object.namespace, before, -1)
	x.granted.add(object.namespace, g, 1)
	x.grants[object] = g
	if len(g.from)*len(g.to) == 0 {
		delete(x.grants, object)
	}
	x.judgeAll(object.namespace)
}

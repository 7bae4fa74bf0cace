package custom

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/ownership"
)

// Explanation is what the definition of a custom resource says about one object.
type Explanation struct {
	// Type divides the object into fields with owners.
	Type *ownership.Type
	// Locks are the places that a marker protects.
	Locks []Lock
	// Notes say which markers could not be read, and why.
	Notes []string
}

// Lock is a place of a custom resource that a marker protects.
type Lock struct {
	immutability.Lock
	// Version is the version of the definition with the marker, and of the path.
	Version string

	compiled *definition.Compiled
	object   map[string]any
}

// Holds reports whether the condition of the rule is true for the object. The error says why it cannot be evaluated; the rule then
// holds.
func (l Lock) Holds(ctx context.Context, expression string) (bool, error) {
	return l.compiled.Holds(ctx, expression, l.object)
}

// Explain returns what the definition says about an object in the version of the resource. It
// returns nil if the server does not serve the resource.
func (s *Server) Explain(of schema.GroupVersionResource, obj map[string]any) (*Explanation, error) {
	r := s.acquire(of.GroupResource())
	if r == nil {
		return nil, nil
	}
	defer r.Release()
	v := r.Versions[of.Version]
	if v == nil {
		return nil, nil
	}
	if err := r.Compile(); err != nil {
		return nil, err
	}
	if err := r.CompileWrites(); err != nil {
		return nil, err
	}
	explained := &Explanation{Type: v.Owned}
	explained.add(v, obj)
	for _, other := range v.AlsoMarked {
		// As for an update, the markers of the other versions count too.
		converted, err := r.Convertor.ConvertToVersion(object.Of(obj), other.GroupVersion())
		if err != nil {
			explained.Notes = append(explained.Notes, fmt.Sprintf("the markers of version %s are not known: %v", other.Name, err))
			continue
		}
		explained.add(other, object.From(converted).Object)
	}
	return explained, nil
}

// add adds the locks of a version that no earlier version has.
func (e *Explanation) add(v *kind.Version, obj map[string]any) {
	known := map[string]bool{}
	for _, lock := range e.Locks {
		known[ruleOf(lock.Lock)] = true
	}
	for _, lock := range v.Compiled.Policy.Locks(obj) {
		if !known[ruleOf(lock)] {
			e.Locks = append(e.Locks, Lock{Lock: lock, Version: v.Name, compiled: v.Compiled, object: obj})
		}
	}
}

// ruleOf returns the place and the rule of a lock.
func ruleOf(lock immutability.Lock) string {
	text := lock.Path.String() + " " + lock.Marker.String()
	if lock.Mark != nil {
		text += " " + lock.Mark.String()
	}
	return text
}

package console

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/native/frozen"
	"holdfast.dev/holdfast/ownership"
)

// The reasons of a lock.
const (
	reasonMarker    = "marker"
	reasonFrozen    = "frozen"
	reasonFlag      = "flag"
	reasonParameter = "parameter"
)

// knowledge is what the server knows about the kind of an object.
type knowledge struct {
	kind  *ownership.Type
	locks []Lock
	notes []string
}

// explain returns what the server knows about an object, of which body is the JSON.
func (s Sources) explain(of schema.GroupVersionResource, obj unstructured.Unstructured, body []byte) (knowledge, error) {
	gvk := obj.GroupVersionKind()
	known := knowledge{locks: []Lock{}, notes: []string{}}
	switch {
	case gvk.Group == definition.GroupName:
		known.kind = s.Ownership.DefinitionType()
		return known, nil
	case s.Ownership.Type(gvk.GroupKind()) != nil:
		known.kind = s.Ownership.Type(gvk.GroupKind())
		return known, s.addFrozen(&known, gvk, body)
	}
	explained, err := s.Custom.Explain(of, obj.Object)
	switch {
	case err != nil:
		return known, err
	case explained == nil:
		known.kind = &ownership.Type{Applied: ownership.Untyped(), Managed: ownership.Untyped()}
		known.notes = append(known.notes, "the definition of this kind is not served")
		return known, nil
	}
	known.kind, known.notes = explained.Type, append(known.notes, explained.Notes...)
	for _, lock := range explained.Locks {
		why := fmt.Sprintf("%s in version %s of the definition", lock.Marker.Keyword(), lock.Version)
		known.locks = append(known.locks, newLock(lock.Lock, reasonMarker, why))
	}
	return known, nil
}

// addFrozen adds the locks of a built-in kind.
func (s Sources) addFrozen(known *knowledge, gvk schema.GroupVersionKind, body []byte) error {
	if !s.Scheme.Recognizes(gvk) {
		return nil
	}
	typed, err := s.Scheme.New(gvk)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, typed); err != nil {
		return fmt.Errorf("decode the %s: %w", gvk.Kind, err)
	}
	locks, err := frozen.LocksOf(typed)
	if err != nil {
		return err
	}
	for _, lock := range locks.Immutable {
		known.locks = append(known.locks, newLock(lock, reasonFlag, "the field immutable of the object is true"))
	}
	for _, lock := range locks.Fields {
		known.locks = append(known.locks, newLock(lock, reasonFrozen, "Kubernetes fixes this field of the kind "+gvk.Kind))
	}
	return nil
}

func newLock(lock immutability.Lock, reason, why string) Lock {
	return Lock{
		Field: "." + lock.Path.String(), Reason: reason, Why: why, Rule: ruleOf(lock.Marker),
		Free: lock.Marker == immutability.Free, Absent: lock.Absent, Exception: lock.Exception,
	}
}

// ruleOf says what a marker forbids.
func ruleOf(marker immutability.Marker) string {
	switch marker {
	case immutability.Immutable:
		return "every change is refused"
	case immutability.ImmutableKeys:
		return "adding and removing keys or items is refused"
	case immutability.AdditionOnly:
		return "removing keys or items is refused"
	case immutability.DeletionOnly:
		return "adding keys or items is refused"
	}
	return "may change, although a field above it is locked"
}

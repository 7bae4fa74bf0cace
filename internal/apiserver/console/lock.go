package console

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/native/frozen"
	"holdfast.dev/holdfast/ownership"
	jsonschema "holdfast.dev/holdfast/schema"
)

// The reasons of a lock.
const (
	reasonMarker    = "marker"
	reasonRule      = "rule"
	reasonPolicy    = "policy"
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
func (s Sources) explain(ctx context.Context, about subject, body []byte) (knowledge, error) {
	gvk := about.obj.GroupVersionKind()
	known := knowledge{locks: []Lock{}, notes: []string{}}
	switch {
	case gvk.Group == definition.GroupName:
		known.kind = s.Ownership.DefinitionType()
		return known, nil
	case s.Ownership.Type(gvk.GroupKind()) != nil:
		known.kind = s.Ownership.Type(gvk.GroupKind())
		return known, s.addFrozen(&known, gvk, body)
	}
	explained, err := s.Custom.Explain(about.of, about.obj.Object)
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
		shown := newLock(lock.Lock, reasonMarker, fmt.Sprintf("%s in version %s of the definition", keyword(lock.Marker), lock.Version))
		if lock.Mark != nil {
			shown.Reason, shown.Why = reasonRule, fmt.Sprintf("the rule %q in version %s of the definition", lock.Mark, lock.Version)
			shown.Condition = about.condition(ctx, lock.Mark, func(expression string) (bool, error) { return lock.Holds(ctx, expression) })
		}
		known.locks = append(known.locks, shown)
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

// keyword returns the keyword of a marker, with its set.
func keyword(marker immutability.Marker) string {
	if marker.Keyword() == jsonschema.UpdateKeyword {
		return jsonschema.UpdateKeyword + ": [" + strings.Join(marker.Constraints(), ", ") + "]"
	}
	return marker.Keyword()
}

// ruleOf says what a marker forbids.
func ruleOf(marker immutability.Marker) string {
	switch marker {
	case immutability.Free:
		return "may change, although a field above it is locked"
	case immutability.Immutable:
		return "every change is refused"
	case immutability.ImmutableKeys:
		return "adding and removing keys or items is refused"
	case immutability.AdditionOnly:
		return "removing keys or items is refused"
	case immutability.DeletionOnly:
		return "adding keys or items is refused"
	case immutability.SetOnce:
		return "it may be set once: removing and replacing the value is refused"
	}
	var refused []string
	for _, each := range []struct {
		constraint immutability.Marker
		text       string
	}{
		{immutability.NoSet, "setting it later"},
		{immutability.NoUnset, "removing it"},
		{immutability.NoModify, "replacing the value"},
		{immutability.NoAddItem, "adding keys or items"},
		{immutability.NoRemoveItem, "removing keys or items"},
	} {
		if marker&each.constraint != 0 {
			refused = append(refused, each.text)
		}
	}
	return strings.Join(refused, " and ") + " is refused"
}

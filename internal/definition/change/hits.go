package change

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/verdict"
	"holdfast.dev/holdfast/value"
)

// Kind is the two states of a definition, compiled.
type Kind struct {
	old, updated map[string]*definition.Compiled
	// was and is are the storage versions of the two states. Each is nil if a webhook converts objects then.
	was, is *definition.Compiled
}

// Compile compiles two states of a definition. The new one may be nil: the definition is gone.
func Compile(oldCRD, newCRD *definition.CustomResourceDefinition) (Kind, error) {
	var k Kind
	var err error
	if k.old, err = definition.Compile(oldCRD); err != nil || newCRD == nil {
		return k, err
	}
	if k.updated, err = definition.Compile(newCRD); err != nil {
		return k, err
	}
	if oldCRD.Spec.ConvertsNothing() {
		k.was = k.old[oldCRD.Spec.StorageVersion()]
	}
	if newCRD.Spec.ConvertsNothing() {
		k.is = k.updated[newCRD.Spec.StorageVersion()]
	}
	return k, nil
}

// Stored returns the object that the server stored if a client created this one under the old definition: with its defaults, and without
// the fields that it drops.
func (k Kind) Stored(object map[string]any) map[string]any {
	old := k.old[verdict.VersionOf(object)]
	if old == nil {
		return object
	}
	return verdict.Complete(old, object)
}

// Hits returns, for each change, the number of objects that it affects. An object counts
// for the changes of its own version.
func (k Kind) Hits(ctx context.Context, changes []Change, objects []map[string]any) []int {
	hits := make([]int, len(changes))
	for _, object := range objects {
		o := k.Examine(ctx, object)
		for i, change := range changes {
			if o.IsHit(change) {
				hits[i]++
			}
		}
	}
	return hits
}

// Examined is what the new definition does to one object.
type Examined struct {
	// Lost are the fields that the new schema drops, and Refused those that it refuses, although the old schema does not.
	Lost, Refused []string

	object  map[string]any
	version string
	// unstored are the fields that the storage version drops when the object is written again.
	unstored []string
}

// ExamineVersion returns an object for changes that depend on nothing but its version.
func ExamineVersion(object map[string]any) Examined {
	return Examined{object: object, version: verdict.VersionOf(object)}
}

// Examine finds what the new definition does to an object of any stored version.
func (k Kind) Examine(ctx context.Context, object map[string]any) Examined {
	out := ExamineVersion(object)
	old, updated := k.old[out.version], k.updated[out.version]
	if old == nil {
		return out
	}
	before := verdict.Complete(old, object)
	out.unstored = k.unstored(out.version, before)
	if updated == nil {
		return out
	}
	if updated.Pruned {
		out.Lost = updated.Skeleton.PrunePaths(runtime.DeepCopyJSON(before))
	}
	// The stored object need not have the old defaults.
	after := verdict.Complete(updated, object)
	wrong := verdict.Refusals(ctx, updated, after)
	if len(wrong) == 0 {
		// Most objects are valid, and then the rules of the old definition need not be compiled.
		return out
	}
	known := map[string]bool{}
	for _, refusal := range verdict.Refusals(ctx, old, before) {
		known[refusal.Path] = true
	}
	for _, refusal := range wrong {
		if !known[refusal.Path] {
			out.Refused = append(out.Refused, refusal.Path)
		}
	}
	return out
}

// unstored returns the fields of an object that the new storage version drops, and the old one does not.
func (k Kind) unstored(version string, object map[string]any) []string {
	if k.is == nil || !k.is.Pruned || k.is.Kind.Version == version {
		return nil
	}
	var known []string
	if k.was != nil && k.was.Pruned && k.was.Kind.Version != version {
		known = k.was.Skeleton.PrunePaths(runtime.DeepCopyJSON(object))
	}
	lost := k.is.Skeleton.PrunePaths(runtime.DeepCopyJSON(object))
	return slices.DeleteFunc(lost, func(path string) bool { return slices.Contains(known, path) })
}

// IsHit reports whether a change affects the object.
func (o Examined) IsHit(c Change) bool {
	if c.Version != "" && c.Version != o.version {
		return false
	}
	if c.hit == everyObject {
		return true
	}
	if c.hit == noObject || c.isUnknown {
		return false
	}
	switch c.hit {
	case withField:
		return has(o.object, c.steps)
	case withoutField:
		return len(c.steps) > 0 && lacks(o.object, c.steps)
	case withLoss:
		return isBelowAny(c.steps, o.Lost)
	case withStorageLoss:
		return isBelowAny(c.steps, o.unstored)
	}
	if c.Rule == defaultRule && has(o.object, c.steps) {
		return false // the object does not get the default
	}
	// Errors of allOf, anyOf, oneOf and not have no path.
	return isBelowAny(c.steps, o.Refused) || c.Rule == notComparableRule && slices.Contains(o.Refused, "")
}

func isBelowAny(steps []value.Step, paths []string) bool {
	for _, path := range paths {
		if isBelow(steps, path) {
			return true
		}
	}
	return false
}

// isBelow reports whether a path, as Kubernetes writes it, is the field of a pattern or below
// it. A name in the path may have dots, so * tries every end of a name.
func isBelow(steps []value.Step, path string) bool {
	if len(steps) == 0 {
		return true
	}
	if path == "" {
		return false
	}
	switch steps[0].Kind {
	case value.AnyItem:
		_, rest, ok := strings.Cut(path, "]")
		return path[0] == '[' && ok && isBelow(steps[1:], rest)
	case value.AnyName:
		for end := 1; end <= len(path); end++ {
			if (end == len(path) || path[end] == '.' || path[end] == '[') && isBelow(steps[1:], path[end:]) {
				return true
			}
		}
		return false
	}
	for _, form := range []string{"[" + steps[0].Name + "]", "." + steps[0].Name, steps[0].Name} {
		rest, ok := strings.CutPrefix(path, form)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && isBelow(steps[1:], rest) {
			return true
		}
	}
	return false
}

// has reports whether a value has the field of a pattern.
func has(v any, steps []value.Step) bool {
	if len(steps) == 0 {
		return v != nil
	}
	for child := range children(v, steps[0]) {
		if has(child, steps[1:]) {
			return true
		}
	}
	return false
}

// lacks reports whether a value has the parent of a field, but not the field.
func lacks(v any, steps []value.Step) bool {
	last := len(steps) - 1
	if last == 0 {
		_, isObject := v.(map[string]any)
		return isObject && !has(v, steps)
	}
	for child := range children(v, steps[0]) {
		if lacks(child, steps[1:]) {
			return true
		}
	}
	return false
}

// children yields the values that a step of a pattern leads to.
func children(v any, step value.Step) func(yield func(any) bool) {
	return func(yield func(any) bool) {
		switch v := v.(type) {
		case map[string]any:
			for name, child := range v {
				if (step.Kind == value.AnyName || step.Kind == value.Name && step.Name == name) && !yield(child) {
					return
				}
			}
		case []any:
			for _, child := range v {
				if step.Kind == value.AnyItem && !yield(child) {
					return
				}
			}
		}
	}
}

package change

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/value"
)

// Kind is the two versions of a definition, compiled.
type Kind struct {
	Old, New map[string]*definition.Compiled
}

// Hits returns, for each change, the number of objects that it affects. An object counts
// for the changes of its own version.
func (k Kind) Hits(ctx context.Context, changes []Change, objects []map[string]any) []int {
	hits := make([]int, len(changes))
	for _, object := range objects {
		o := k.examine(ctx, object)
		for i, change := range changes {
			if o.isHit(change) {
				hits[i]++
			}
		}
	}
	return hits
}

// examined is what the new definition does to one object.
type examined struct {
	object  map[string]any
	version string
	lost    []string // fields that the new schema drops, and the old one keeps
	errors  []string // fields that the new schema refuses, and the old one accepts
}

func (k Kind) examine(ctx context.Context, object map[string]any) examined {
	apiVersion, _ := object["apiVersion"].(string)
	out := examined{object: object, version: apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]}
	old, updated := k.Old[out.version], k.New[out.version]
	if old == nil || updated == nil {
		return out
	}
	before := complete(old, object)
	after := runtime.DeepCopyJSON(before)
	if updated.Pruned {
		out.lost = updated.Skeleton.PrunePaths(after)
	}
	updated.Skeleton.Default(after)
	updated.Skeleton.Normalize(after)
	known := map[string]bool{}
	for _, path := range refused(ctx, old, before) {
		known[path] = true
	}
	for _, path := range refused(ctx, updated, after) {
		if !known[path] {
			out.errors = append(out.errors, path)
		}
	}
	return out
}

// complete returns a copy of an object as a GET returns it.
func complete(version *definition.Compiled, object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	if version.Pruned {
		version.Skeleton.Prune(out)
	}
	version.Skeleton.Default(out)
	version.Skeleton.Normalize(out)
	return out
}

// refused returns the paths for which the server would refuse to create the object.
func refused(ctx context.Context, version *definition.Compiled, object map[string]any) []string {
	var paths []string
	wrong := version.Skeleton.Check(object)
	for _, w := range wrong {
		paths = append(paths, w.Path)
	}
	if len(wrong) > 0 {
		return paths
	}
	for _, err := range version.Validate(ctx, object, nil) {
		paths = append(paths, err.Field)
	}
	return paths
}

// isHit reports whether a change affects the object.
func (o examined) isHit(c Change) bool {
	if c.Version != "" && c.Version != o.version {
		return false
	}
	if c.hit == everyObject {
		return true
	}
	pattern, err := value.ParsePattern(c.Field)
	if c.Field == "" {
		pattern, err = nil, nil
	}
	if err != nil || c.hit == noObject {
		return false
	}
	steps := pattern.Steps()
	switch c.hit {
	case withField:
		return has(o.object, steps)
	case withoutField:
		return len(steps) > 0 && lacks(o.object, steps)
	case withLoss:
		return isBelowAny(steps, o.lost)
	}
	return isBelowAny(steps, o.errors)
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

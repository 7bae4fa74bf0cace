package definition

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/value"
)

// Stored is an object that an update replaces.
type Stored struct {
	// Object is nil for a create.
	Object map[string]any
	// Valid reports that ValidateStored found the object valid, and that the schema has not changed since. The server then looks only
	// at what the update changes.
	Valid bool
}

// ValidateStored is [Compiled.Validate], and reports whether the new object is valid as a whole. Validate returns no errors for an invalid
// value that an update leaves unchanged, so an object without errors need not be valid.
//
// If the stored object is valid, ValidateStored does not look at the maps and lists that both objects share in memory.
func (c *Compiled) ValidateStored(ctx context.Context, newObj map[string]any, old Stored) (errs field.ErrorList, valid bool) {
	if c.isValid(ctx, newObj, old) {
		return nil, true
	}
	return c.Validate(ctx, newObj, old.Object), false
}

// ValidateStoredStatus is [Compiled.ValidateStatus], and reports whether the new object is valid as a whole.
func (c *Compiled) ValidateStoredStatus(ctx context.Context, newObj map[string]any, old Stored) (errs field.ErrorList, valid bool) {
	if old.Valid && c.isValid(ctx, newObj, old) {
		return nil, true
	}
	return c.ValidateStatus(ctx, newObj, old.Object), false
}

// isValid reports whether an object is surely valid, and all rules about changes hold. If it returns false, the object may still be valid.
func (c *Compiled) isValid(ctx context.Context, newObj map[string]any, old Stored) bool {
	if c.CompileForWrites() != nil {
		return false
	}
	v, ok := c.schema.(valueValidator)
	if !ok {
		return false
	}
	// A nil map in an interface is not nil.
	var known any
	if old.Valid {
		known = old.Object
	}
	if !v.acceptor().accepts(newObj, known) || len(c.validateScale(newObj)) > 0 {
		return false
	}
	if c.embeds && len(objectmeta.Validate(ctx, nil, newObj, c.Structural, false)) > 0 {
		return false
	}
	if c.keyed && !c.listsHold(changed(newObj, known)) {
		return false
	}
	return c.rules == nil || c.rulesHold(ctx, newObj, old)
}

// listsHold reports whether the items of all lists of type map and set differ.
func (c *Compiled) listsHold(obj map[string]any) bool {
	return c.distinct().areDistinct(obj) || len(listtype.ValidateListSetsAndMaps(nil, c.lists, obj)) == 0
}

// changed returns an object without the values that it shares with a known object.
func changed(obj map[string]any, known any) map[string]any {
	knownObj, ok := known.(map[string]any)
	if !ok {
		return obj
	}
	out := map[string]any{}
	for name, v := range obj {
		before := knownObj[name]
		if same(v, before) {
			continue
		}
		if child, ok := v.(map[string]any); ok {
			v = changed(child, before)
		}
		out[name] = v
	}
	return out
}

// same reports whether two values are one value in memory, or equal scalars. Two values that are not the same may be equal.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && a != nil && b != nil && value.SameObject(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && value.SameList(a, b)
	case string, bool, int64, float64:
		return a == b
	}
	return false
}

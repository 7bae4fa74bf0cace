package compare

import "testing"

// A definition has as many fields as it was asked for, and an instance sets all of its parts.
func TestFields(t *testing.T) {
	for _, fields := range []int{10, 15, 100, 195, 1000} {
		r := resource{group: "example.com", name: "fleet", fields: fields}
		spec := dig(r.definition(), "spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties")
		// region does not count.
		if got := count(spec) - 1; got != fields {
			t.Errorf("the definition has %d fields, want %d", got, fields)
		}
		value, _ := r.instance("one", 1)["spec"].(object)
		if len(value) != len(spec) {
			t.Errorf("%d fields: the instance sets %d of %d properties", fields, len(value), len(spec))
		}
	}
}

// count counts properties that are no objects with properties of their own. The items of lists do not count.
func count(properties object) int {
	n := 0
	for _, property := range properties {
		schema, _ := property.(object)
		if inner, nested := schema["properties"].(object); nested {
			n += count(inner)
			continue
		}
		n++
	}
	return n
}

// dig returns the object at a path of keys and indexes.
func dig(from any, path ...any) object {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			from = from.(object)[step]
		case int:
			from = from.(list)[step]
		}
	}
	return from.(object)
}

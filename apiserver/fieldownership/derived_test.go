package fieldownership_test

import (
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// allocated matches the fields for which the server allocates values.
var allocated = regexp.MustCompile(`^\.spec\.(clusterIPs?|healthCheckNodePort|ports\[[^]]*\]\.nodePort)$`)

// isDerived says whether the server computes the value of a field from other fields: it is the
// value that the server sets in the object if the field is missing. If apply changes another
// field, such a field may change with it. Then no client has set the value that is lost.
func isDerived(m *manifest, obj map[string]any, field string) bool {
	if _, written, _ := unstructured.NestedFieldNoCopy(m.object, "spec", "ipFamilies"); allocated.MatchString(field) ||
		field == ".spec.ipFamilies" && !written {
		return true
	}
	path, err := ownership.ParsePath(field)
	if err != nil || m.typ.Default == nil {
		return false
	}
	without, _ := withoutField(obj, path.Steps()).(map[string]any)
	complete, err := m.typ.Default(without)
	return err == nil && !(warned{fields: changed(m, obj, complete)}).covers(field)
}

// withoutField returns a copy of a value without the field at a path.
func withoutField(v any, path []value.Step) any {
	step := path[0]
	switch at := v.(type) {
	case map[string]any:
		at = maps.Clone(at)
		if len(path) == 1 {
			delete(at, step.Name)
		} else if below, ok := at[step.Name]; ok {
			at[step.Name] = withoutField(below, path[1:])
		}
		return at
	case []any:
		at = slices.Clone(at)
		for i, item := range at {
			if value.Applied.EqualKeys(step.Keys, item, step.Value) && len(path) > 1 {
				at[i] = withoutField(item, path[1:])
			}
		}
		return at
	}
	return v
}

// withoutNulls returns a copy of a value without nulls.
func withoutNulls(v any) any {
	switch at := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, below := range at {
			if below != nil {
				out[name] = withoutNulls(below)
			}
		}
		return out
	case []any:
		out := make([]any, len(at))
		for i, item := range at {
			out[i] = withoutNulls(item)
		}
		return out
	}
	return v
}

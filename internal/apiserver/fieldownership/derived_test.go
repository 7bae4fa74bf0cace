package fieldownership_test

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// allocated matches the fields for which the server allocates values.
var allocated = regexp.MustCompile(`^\.spec\.(clusterIPs?|ipFamilies|healthCheckNodePort|ports\[[^]]*\]\.nodePort)$`)

// isDerived says whether the server computes the value of a field from other fields: the file
// does not have the field, and the value is the server's default. If apply changes another
// field, such a field may change with it. Then no client has set the value that is lost.
func isDerived(m *manifest, obj map[string]any, field string) bool {
	path, err := ownership.ParsePath(field)
	if err != nil || !isZero(fieldAt(m.object, path.Steps())) {
		return false
	}
	return allocated.MatchString(field) || isDefault(m, obj, field)
}

// isDefault says whether the server sets the value of a field of an object if the field is
// missing.
func isDefault(m *manifest, obj map[string]any, field string) bool {
	path, err := ownership.ParsePath(field)
	if err != nil || m.typ.Default == nil {
		return false
	}
	without, _ := withoutField(obj, path.Steps()).(map[string]any)
	complete, err := m.typ.Default(without)
	return err == nil && !(warned{fields: changed(m, obj, complete)}).covers(field)
}

// lost returns the fields that kubectl patch manages in the first object and not in the second.
func lost(t testing.TB, before, after map[string]any) []string {
	t.Helper()
	var out []string
	managedByPatch(t, before).Difference(managedByPatch(t, after)).Iterate(func(path fieldpath.Path) {
		out = append(out, path.String())
	})
	return out
}

func managedByPatch(t testing.TB, obj map[string]any) *fieldpath.Set {
	t.Helper()
	set := &fieldpath.Set{}
	for _, entry := range (&unstructured.Unstructured{Object: obj}).GetManagedFields() {
		if entry.Manager == "kubectl-patch" {
			if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return set
}

// fieldAt returns the field at a path of a value, nil if there is none.
func fieldAt(v any, path []value.Step) any {
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[step.Name]
		case []any:
			i := slices.IndexFunc(at, func(item any) bool {
				return step.Kind == value.Item && value.Applied.EqualKeys(step.Keys, item, step.Value) ||
					step.Kind == value.Member && value.Applied.Equal(item, step.Value)
			})
			if i < 0 {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
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

package fieldownership_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/native/openapi"
)

// mutator changes objects at random. It takes the fields that an object may have from the
// schema of its kind.
type mutator struct {
	*rand.Rand
	models map[string]common.OpenAPIDefinition
	// owner is the owner reference that mutations add to objects. If it is nil, mutations change
	// neither finalizers nor owner references.
	owner map[string]any
}

// models returns the schemas of the built-in kinds and of their parts.
func models() map[string]common.OpenAPIDefinition {
	return openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/components/schemas/" + name) })
}

// changes are the changes that can be made to an object, by kind of change.
type changes struct{ addZero, addValue, fillZero, remove, vary []func() }

// mutate makes one random change to an object. It says whether there was one to make.
func (m mutator) mutate(obj map[string]any, model *spec.Schema) bool {
	var c changes
	m.object(&c, obj, model, "")
	kinds := slices.DeleteFunc([][]func(){c.addZero, c.addValue, c.fillZero, c.remove, c.vary}, func(kind []func()) bool {
		return len(kind) == 0
	})
	if len(kinds) == 0 {
		return false
	}
	pick(m, pick(m, kinds))()
	return true
}

func pick[T any](m mutator, of []T) T { return of[m.IntN(len(of))] }

// resolve follows the reference of a schema.
func (m mutator) resolve(s *spec.Schema) *spec.Schema {
	for s != nil {
		ref := s.Ref.String()
		if ref == "" && len(s.AllOf) == 1 {
			ref = s.AllOf[0].Ref.String()
		}
		if ref == "" {
			return s
		}
		model := m.models[ref[strings.LastIndexByte(ref, '/')+1:]]
		s = &model.Schema
	}
	return &spec.Schema{}
}

// isFixed says whether a field is not changed: the server sets it, or it is part of the
// identity of the object.
func (m mutator) isFixed(path string) bool {
	switch path {
	case ".apiVersion", ".kind", ".status":
		return true
	case ".metadata.labels", ".metadata.annotations":
		return false
	case ".metadata.finalizers", ".metadata.ownerReferences":
		return m.owner == nil
	case ".metadata.ownerReferences[].apiVersion", ".metadata.ownerReferences[].kind",
		".metadata.ownerReferences[].name", ".metadata.ownerReferences[].uid":
		// The garbage collector would delete the object.
		return true
	}
	return strings.HasPrefix(path, ".metadata.") && strings.Count(path, ".") == 2
}

// object collects the changes to the fields of an object.
func (m mutator) object(c *changes, obj map[string]any, s *spec.Schema, path string) {
	s = m.resolve(s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if _, ok := obj[name]; ok || m.isFixed(path+"."+name) {
			continue
		}
		c.addZero = append(c.addZero, func() { obj[name] = m.zero(&property) })
		c.addValue = append(c.addValue, func() { obj[name] = m.valueAt(path+"."+name, &property) })
	}
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		if m.isFixed(path + "." + name) {
			continue
		}
		if path+name != "metadata" {
			c.remove = append(c.remove, func() { delete(obj, name) })
		}
		property, ok := s.Properties[name]
		if !ok && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			property = *s.AdditionalProperties.Schema
		}
		m.field(c, obj[name], &property, place{path + "." + name, func(v any) { obj[name] = v }})
	}
	if s.AdditionalProperties != nil {
		c.addValue = append(c.addValue, func() { obj[pick(m, freeKeys)] = m.value(s.AdditionalProperties.Schema, 2) })
	}
}

// freeKeys are keys for maps with any keys, such as labels and the data of a ConfigMap. Some are names of fields that follow another
// field elsewhere, and here follow none.
var freeKeys = []string{
	"k0", "k1", "k2", "serviceAccount", "serviceAccountName", "clusterIP", "clusterIPs", "podCIDR", "podCIDRs", "rules",
}

// place is where a value stands.
type place struct {
	path string
	set  func(any)
}

// field collects the changes to one value.
func (m mutator) field(c *changes, v any, s *spec.Schema, at place) {
	if isZero(v) {
		c.fillZero = append(c.fillZero, func() { at.set(m.valueAt(at.path, s)) })
	}
	switch v := v.(type) {
	case map[string]any:
		m.object(c, v, s, at.path)
	case []any:
		m.list(c, v, s, at)
	case bool:
		c.vary = append(c.vary, func() { at.set(!v) })
	case int64:
		c.vary = append(c.vary, func() { at.set(v + 1) })
	case string:
		c.vary = append(c.vary, func() { at.set(m.varied(v)) })
	}
}

func (m mutator) list(c *changes, list []any, s *spec.Schema, at place) {
	items := &spec.Schema{}
	if s = m.resolve(s); s.Items != nil && s.Items.Schema != nil {
		items = s.Items.Schema
	}
	c.addZero = append(c.addZero, func() { at.set([]any{}) })
	c.addValue = append(c.addValue, func() { at.set(append(slices.Clone(list), m.valueAt(at.path+"[]", items))) })
	for i, item := range list {
		c.remove = append(c.remove, func() { at.set(slices.Delete(slices.Clone(list), i, i+1)) })
		m.field(c, item, items, place{at.path + "[]", func(v any) { list[i] = v }})
	}
}

// varied returns another text, or the same quantity in another form.
func (m mutator) varied(text string) string {
	if q, err := resource.ParseQuantity(text); err == nil && m.IntN(2) == 0 {
		return fmt.Sprintf("%dm", q.MilliValue())
	}
	return text + pick(m, []string{"x", "2", "-y"})
}

// isZero says whether the Go types of Kubernetes may leave out a value.
func isZero(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil || v == false || v == "" || v == int64(0)
}

// overlay returns a live object with the zero values and nulls of a file, which the server
// does not store. Both objects may change.
func overlay(live, file any) any {
	switch f := file.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			for name, v := range f {
				if old, there := l[name]; there || isZero(v) {
					l[name] = overlay(old, v)
				}
			}
			return l
		}
	case []any:
		if l, ok := live.([]any); ok && len(l) == len(f) {
			for i := range f {
				l[i] = overlay(l[i], f[i])
			}
			return l
		}
	}
	if live == nil {
		return file
	}
	return live
}

// zero returns the zero of a schema, or null.
func (m mutator) zero(s *spec.Schema) any {
	if m.IntN(5) == 0 {
		return nil
	}
	s = m.resolve(s)
	switch {
	case s.Type.Contains("string"):
		return ""
	case s.Type.Contains("integer"), s.Type.Contains("number"):
		return int64(0)
	case s.Type.Contains("boolean"):
		return false
	case s.Type.Contains("array"):
		return []any{}
	}
	return map[string]any{}
}

// valueAt returns a value for the field at a path, with objects up to two levels.
func (m mutator) valueAt(path string, s *spec.Schema) any {
	switch path {
	case ".metadata.finalizers":
		return []any{pick(m, finalizers)}
	case ".metadata.finalizers[]":
		return pick(m, finalizers)
	case ".metadata.ownerReferences":
		return []any{maps.Clone(m.owner)}
	case ".metadata.ownerReferences[]":
		return maps.Clone(m.owner)
	}
	return m.value(s, 2)
}

// finalizers are names of finalizers that the server accepts.
var finalizers = []string{"example.dev/a", "example.dev/b"}

// value returns a value of a schema, with objects up to a depth.
func (m mutator) value(s *spec.Schema, depth int) any {
	s = m.resolve(s)
	switch {
	case len(s.Enum) > 0:
		return pick(m, s.Enum)
	case s.Type.Contains("string"):
		return pick(m, []string{"a", "b", "1", "5s", "/a", "x.example.com"})
	case s.Type.Contains("integer"), s.Type.Contains("number"):
		return int64(m.IntN(9) + 1)
	case s.Type.Contains("boolean"):
		return m.IntN(2) == 0
	case depth == 0:
		return m.zero(s)
	case s.Type.Contains("array") && s.Items != nil:
		return []any{m.value(s.Items.Schema, depth-1)}
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if slices.Contains(s.Required, name) || m.IntN(len(s.Properties)) == 0 {
			out[name] = m.value(&property, depth-1)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out["k"] = m.value(s.AdditionalProperties.Schema, depth-1)
	}
	return out
}

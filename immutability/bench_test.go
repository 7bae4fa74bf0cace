package immutability_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// realistic returns the policy of a schema with 200 fields, 20 of them marked, and
// an object of 6 KB with all fields set.
func realistic(b *testing.B) (*immutability.Policy, map[string]any) {
	yes := true
	spec, values := map[string]*schema.Schema{}, map[string]any{}
	for i := range 20 {
		section, filled := map[string]*schema.Schema{}, map[string]any{}
		for j := range 9 {
			name := fmt.Sprintf("field%d", j)
			section[name] = &schema.Schema{Type: "string"}
			filled[name] = fmt.Sprintf("value-%02d-%d-of-a-field", i, j)
		}
		section["field0"].Immutable = &yes
		name := fmt.Sprintf("section%02d", i)
		spec[name] = &schema.Schema{Type: "object", Properties: section}
		values[name] = filled
	}
	s := &schema.Schema{Type: "object", Properties: map[string]*schema.Schema{"spec": {Type: "object", Properties: spec}}}
	policy, err := immutability.Compile(s)
	if err != nil {
		b.Fatal(err)
	}
	return policy, map[string]any{"apiVersion": "example.com/v1", "kind": "Realistic", "spec": values}
}

func BenchmarkCheckNilPolicy(b *testing.B) {
	_, obj := realistic(b)
	other := runtime.DeepCopyJSON(obj)
	var policy *immutability.Policy
	b.ReportAllocs()
	for b.Loop() {
		policy.Check(obj, other)
	}
}

// The update changes a field that is not marked, in an object with 20 marked ones.
func BenchmarkCheckUpdate(b *testing.B) {
	policy, obj := realistic(b)
	other := runtime.DeepCopyJSON(obj)
	other["spec"].(map[string]any)["section07"].(map[string]any)["field8"] = "another"
	b.ReportAllocs()
	for b.Loop() {
		if policy.Check(obj, other) != nil {
			b.Fatal("refused")
		}
	}
}

// The whole spec is marked and unchanged, so 6 KB are compared once.
func BenchmarkCheckEqualObject(b *testing.B) {
	_, obj := realistic(b)
	yes := true
	policy, err := immutability.Compile(&schema.Schema{Properties: map[string]*schema.Schema{"spec": {Immutable: &yes}}})
	if err != nil {
		b.Fatal(err)
	}
	for name, other := range map[string]map[string]any{
		"copy":   runtime.DeepCopyJSON(obj),
		"shared": {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "spec": obj["spec"]},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if policy.Check(obj, other) != nil {
					b.Fatal("refused")
				}
			}
		})
	}
}

// ns/item stays the same from 1,000 to 10,000 items: the check is linear.
func BenchmarkCheckLists(b *testing.B) {
	const mapList = `x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {x-kubernetes-immutable: true}`
	for _, kind := range []struct {
		name, schema string
		item         func(int) any
	}{
		{"set", `{properties: {l: {x-kubernetes-list-type: set, x-kubernetes-immutable: true}}}`, scalarItem},
		{"set of objects", `{properties: {l: {x-kubernetes-list-type: set, x-kubernetes-immutable: true}}}`, keyedItem},
		{"map", `{properties: {l: {x-kubernetes-immutable-keys: true, ` + mapList + `}}}`, keyedItem},
	} {
		policy := compile(b, kind.schema)
		for _, order := range []string{"same", "reversed"} {
			for _, n := range []int{1_000, 10_000} {
				b.Run(fmt.Sprintf("%s/%s order/%d", kind.name, order, n), func(b *testing.B) {
					oldObj, newObj := wide(n, kind.item), wide(n, kind.item)
					if order == "reversed" {
						slices.Reverse(newObj["l"].([]any))
					}
					b.ReportAllocs()
					for b.Loop() {
						if policy.Check(oldObj, newObj) != nil {
							b.Fatal("refused")
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
				})
			}
		}
	}
}

// Every item has a violation.
func BenchmarkCheckViolations(b *testing.B) {
	policy := compile(b, `{properties: {l: {x-kubernetes-immutable: true, x-kubernetes-list-type: map,
		x-kubernetes-list-map-keys: [name]}}}`)
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			oldObj, newObj := wide(n, keyedItem), wide(n, keyedItem)
			for _, item := range newObj["l"].([]any) {
				item.(map[string]any)["x"] = "another"
			}
			b.ReportAllocs()
			for b.Loop() {
				if found := policy.Check(oldObj, newObj); len(found) != n {
					b.Fatalf("%d violations", len(found))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
		})
	}
}

// The largest schemas in use have 10,000 nodes.
func BenchmarkCompile(b *testing.B) {
	yes := true
	root := &schema.Schema{Properties: map[string]*schema.Schema{}}
	for i := range 100 {
		section := &schema.Schema{Properties: map[string]*schema.Schema{}}
		for j := range 100 {
			section.Properties[fmt.Sprint(j)] = &schema.Schema{Type: "string"}
		}
		section.Properties["0"].Immutable = &yes
		root.Properties[fmt.Sprint(i)] = section
	}
	b.ReportAllocs()
	for b.Loop() {
		if policy, err := immutability.Compile(root); policy == nil || err != nil {
			b.Fatal(err)
		}
	}
}

package skeleton_test

import (
	"fmt"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/skeleton"
)

// realistic returns a schema and a resource of about 200 fields, as operators for
// workloads have them: a spec with containers, templates and maps of strings, and a
// status with conditions.
func realistic(containers int) (in, obj map[string]any) {
	leaf := func(t string) any { return map[string]any{"type": t} }
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	list := func(items any) any { return map[string]any{"type": "array", "items": items} }
	stringMap := map[string]any{"type": "object", "additionalProperties": leaf("string")}

	container := object(map[string]any{
		"name": leaf("string"), "image": leaf("string"), "command": list(leaf("string")), "workingDir": leaf("string"),
		"ports":     list(object(map[string]any{"name": leaf("string"), "containerPort": leaf("integer"), "protocol": leaf("string")})),
		"env":       list(object(map[string]any{"name": leaf("string"), "value": leaf("string")})),
		"resources": object(map[string]any{"limits": stringMap, "requests": stringMap}),
		"probe": object(map[string]any{
			"path": leaf("string"), "port": map[string]any{"x-kubernetes-int-or-string": true}, "periodSeconds": leaf("integer"),
		}),
	})
	in = object(map[string]any{
		"spec": object(map[string]any{
			"replicas": leaf("integer"), "paused": leaf("boolean"), "serviceName": leaf("string"), "version": leaf("string"),
			"selector": object(map[string]any{"matchLabels": stringMap}), "containers": list(container), "nodeSelector": stringMap,
			"storage": object(map[string]any{"size": leaf("string"), "class": leaf("string"), "retain": leaf("boolean")}),
		}),
		"status": object(map[string]any{
			"replicas": leaf("integer"), "phase": leaf("string"),
			"conditions": list(object(map[string]any{
				"type": leaf("string"), "status": leaf("string"), "reason": leaf("string"), "message": leaf("string"),
				"lastTransitionTime": leaf("string"),
			})),
		}),
	})

	strings := func(n int) map[string]any {
		out := map[string]any{}
		for i := range n {
			out[fmt.Sprintf("example.com/key-%d", i)] = "value"
		}
		return out
	}
	var containerList, conditions []any
	for i := range containers {
		containerList = append(containerList, map[string]any{
			"name": fmt.Sprintf("c%d", i), "image": "registry.example.com/app:v1", "command": []any{"/bin/app", "--flag"},
			"workingDir": "/",
			"ports": []any{
				map[string]any{"name": "http", "containerPort": int64(80), "protocol": "TCP"},
				map[string]any{"name": "metrics", "containerPort": int64(81), "protocol": "TCP"},
			},
			"env": []any{
				map[string]any{"name": "A", "value": "b"},
				map[string]any{"name": "C", "value": "d"},
				map[string]any{"name": "E", "value": "f"},
			},
			"resources": map[string]any{
				"limits": map[string]any{"cpu": "1", "memory": "1Gi"}, "requests": map[string]any{"cpu": "1", "memory": "1Gi"},
			},
			"probe": map[string]any{"path": "/healthz", "port": "http", "periodSeconds": int64(10)},
		})
		conditions = append(conditions, map[string]any{
			"type": "Ready", "status": "True", "reason": "AllGood", "message": "all is good",
			"lastTransitionTime": "2026-01-01T00:00:00Z",
		})
	}
	obj = map[string]any{
		"apiVersion": "example.com/v1", "kind": "App",
		"metadata": map[string]any{
			"name": "app", "namespace": "default", "uid": "u", "resourceVersion": "1", "generation": int64(3), "labels": strings(6),
			"annotations": strings(6),
		},
		"spec": map[string]any{
			"replicas": int64(3), "paused": false, "serviceName": "app", "version": "1.2.3",
			"selector":   map[string]any{"matchLabels": strings(4)},
			"containers": containerList, "nodeSelector": strings(4),
			"storage": map[string]any{"size": "1Gi", "class": "fast", "retain": true},
		},
		"status": map[string]any{"replicas": int64(3), "phase": "Running", "conditions": conditions},
	}
	return in, obj
}

func fieldsOf(x any) (n int) {
	switch x := x.(type) {
	case map[string]any:
		for _, v := range x {
			n += 1 + fieldsOf(v)
		}
	case []any:
		for _, v := range x {
			n += fieldsOf(v)
		}
	}
	return n
}

func TestNothingToDropAllocatesNothing(t *testing.T) {
	in, obj := realistic(5)
	overlapping := build(t, `{properties: {p: {patternProperties: {^x: {properties: {a: {items: {properties: {c: {}}}}}},
		1$: {properties: {b: {}, a: {items: {properties: {d: {}}}}}}}}}}`)
	overlappingObj := yamltest.Map(t, `{p: {x1: {a: [{c: 1, d: 1}], b: 1}, x2: {a: []}}}`)
	sk := skeleton.Build(schemaOf(t, in))
	for name, run := range map[string]func(){
		"prune": func() { sk.Prune(obj) },
		"prune, overlapping patterns": func() {
			if !raceDetector {
				overlapping.Prune(overlappingObj)
			}
		},
		"check":              func() { sk.Check(obj) },
		"check of an update": func() { sk.CheckUpdate(obj, obj) },
		"default":            func() { sk.Default(obj) },
		"normalize":          func() { sk.Normalize(obj) },
	} {
		if allocs := testing.AllocsPerRun(100, run); allocs > 0 {
			t.Errorf("%s: %v allocations, want none", name, allocs)
		}
	}
	if got := fieldsOf(obj); got < 190 || got > 230 {
		t.Errorf("the realistic resource has %d fields", got)
	}
}

func BenchmarkPruneClean(b *testing.B) {
	in, obj := realistic(5)
	b.Run("holdfast", func(b *testing.B) {
		sk := skeleton.Build(schemaOf(b, in))
		b.ReportAllocs()
		for b.Loop() {
			sk.Prune(obj)
		}
	})
	b.Run("upstream", func(b *testing.B) {
		s := upstreamStructural(b, in)
		b.ReportAllocs()
		for b.Loop() {
			pruning.Prune(obj, s, true)
		}
	})
}

func BenchmarkPruneLinear(b *testing.B) {
	for _, containers := range []int{5, 50, 500} {
		in, obj := realistic(containers)
		sk := skeleton.Build(schemaOf(b, in))
		b.Run(fmt.Sprintf("fields=%d", fieldsOf(obj)), func(b *testing.B) {
			for b.Loop() {
				sk.Prune(obj)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(fieldsOf(obj)), "ns/field")
		})
	}
}

func BenchmarkCheckClean(b *testing.B) {
	in, obj := realistic(5)
	sk := skeleton.Build(schemaOf(b, in))
	b.ReportAllocs()
	for b.Loop() {
		sk.Check(obj)
	}
}

// largeSchema returns a schema with n nodes, three levels deep, some with logic.
func largeSchema(n int) map[string]any {
	properties := map[string]any{}
	for len(properties)*20 < n {
		inner := map[string]any{}
		for i := range 16 {
			inner[fmt.Sprintf("field%d", i)] = map[string]any{"type": "string", "description": "a field"}
		}
		properties[fmt.Sprintf("group%d", len(properties))] = map[string]any{
			"type": "object", "properties": inner,
			"anyOf": []any{
				map[string]any{"required": []any{"field1"}},
				map[string]any{"properties": map[string]any{"field2": map[string]any{"pattern": "x"}}},
			},
		}
	}
	return map[string]any{"type": "object", "properties": properties}
}

func BenchmarkBuild10000Nodes(b *testing.B) {
	s := schemaOf(b, largeSchema(10_000))
	b.ReportAllocs()
	for b.Loop() {
		skeleton.Build(s)
	}
}

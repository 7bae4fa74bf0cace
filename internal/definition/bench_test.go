package definition_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

// large returns a schema with about 200 properties, ten CEL rules and twenty
// markers.
func large() string {
	var b strings.Builder
	b.WriteString("type: object\nproperties:\n  spec:\n    type: object\n    properties:\n")
	for group := range 20 {
		fmt.Fprintf(&b, "      group%d:\n        type: object\n        description: What belongs together in group %d.\n", group, group)
		if group%2 == 0 {
			b.WriteString("        x-kubernetes-validations: [{rule: \"!has(self.field0) || self.field0 != self.field4\"}]\n")
		}
		b.WriteString("        properties:\n")
		for i := range 9 {
			kind := []string{"type: string, maxLength: 64", "type: integer, minimum: 0", "type: boolean", "x-kubernetes-int-or-string: true"}[i%4]
			marker := ""
			if i == 0 {
				marker = ", x-kubernetes-immutable: true"
			}
			fmt.Fprintf(&b, "          field%d: {%s, description: What field %d says.%s}\n", i, kind, i, marker)
		}
	}
	return b.String()
}

func BenchmarkCompile(b *testing.B) {
	crd := store(b, widgets(large()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := definition.Compile(crd); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(held(b, crd, func(*definition.Compiled) {}), "held-B")
	// CEL rules are compiled by the first write.
	b.ReportMetric(held(b, crd, func(c *definition.Compiled) {
		c.Validate(b.Context(), map[string]any{}, nil)
	}), "held-in-use-B")
}

// held returns how many bytes of memory a compiled definition holds after use.
func held(b *testing.B, crd *definition.CustomResourceDefinition, use func(*definition.Compiled)) float64 {
	b.Helper()
	const many = 50
	var before, after runtime.MemStats
	kept := make([]map[string]*definition.Compiled, many)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		var err error
		if kept[i], err = definition.Compile(crd); err != nil {
			b.Fatal(err)
		}
		use(kept[i]["v1"])
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return float64(after.HeapAlloc-before.HeapAlloc) / many
}

func BenchmarkValidate(b *testing.B) {
	crd := store(b, widgets(large()))
	w := definition.Write{APIVersion: definition.V1}
	b.ReportAllocs()
	for b.Loop() {
		if errs := w.Validate(b.Context(), crd); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkPublish(b *testing.B) {
	crd := store(b, widgets(large()))
	b.ReportAllocs()
	for b.Loop() {
		published(b, crd).OpenAPIV3()
	}
}

// BenchmarkCompiledValidate measures the validation of an update of a custom
// resource, after decoding, pruning and defaulting.
func BenchmarkCompiledValidate(b *testing.B) {
	c := compiled(b, store(b, widgets(large())))
	var text strings.Builder
	text.WriteString("spec:\n")
	for group := range 20 {
		fmt.Fprintf(&text, "  group%d: {field0: a, field1: 1, field2: true, field3: 5, field4: b, field5: 2}\n", group)
	}
	oldObj := yamltest.Map(b, text.String())
	newObj := yamltest.Map(b, strings.Replace(text.String(), "field1: 1", "field1: 2", 1))
	b.ReportAllocs()
	for b.Loop() {
		if errs := c.Validate(b.Context(), newObj, oldObj); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

package definition_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
	"holdfast.dev/holdfast/internal/yamltest"
)

// widgets returns a v1 definition with one version and the given schema.
func widgets(schema string) string {
	return `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
` + indent(schema, 8) + "\n"
}

// widgetsV1beta1 returns a v1beta1 definition with the given fields of the spec.
func widgetsV1beta1(spec string) string {
	return `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  version: v1
  names: {plural: widgets, kind: Widget}
` + indent(spec, 2) + "\n"
}

func indent(text string, by int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", by))
		}
		b.WriteString(line)
	}
	return b.String()
}

// read decodes a v1 definition and sets defaults, as the server does.
func read(t testing.TB, text string) *definition.CustomResourceDefinition {
	t.Helper()
	crd := yamltest.Decode[definition.CustomResourceDefinition](t, text)
	crd.ResourceVersion = "1"
	definition.SetDefaults(crd)
	return crd
}

// readV1beta1 decodes a v1beta1 definition, as the server does.
func readV1beta1(t testing.TB, text string) *definition.CustomResourceDefinition {
	t.Helper()
	crd := yamltest.Decode[v1beta1.CustomResourceDefinition](t, text)
	crd.ResourceVersion = "1"
	v1beta1.SetDefaults(crd)
	return crd.ToStored()
}

// store returns the definition that the server stores when a client creates it
// through v1. It fails the test if the definition is invalid.
func store(t testing.TB, text string) *definition.CustomResourceDefinition {
	t.Helper()
	return accept(t, definition.Write{APIVersion: definition.V1}, read(t, text))
}

func storeV1beta1(t testing.TB, text string) *definition.CustomResourceDefinition {
	t.Helper()
	return accept(t, definition.Write{APIVersion: definition.V1beta1}, readV1beta1(t, text))
}

func accept(t testing.TB, w definition.Write, crd *definition.CustomResourceDefinition) *definition.CustomResourceDefinition {
	t.Helper()
	w.Prepare(crd)
	if errs := w.Validate(t.Context(), crd); len(errs) > 0 {
		t.Fatalf("refused: %v", errs)
	}
	return crd
}

// refusals returns the errors of a write, one line each.
func refusals(t testing.TB, w definition.Write, crd *definition.CustomResourceDefinition) []string {
	t.Helper()
	w.Prepare(crd)
	return lines(w.Validate(t.Context(), crd))
}

func lines(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

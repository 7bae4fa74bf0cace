package guard_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// annotated returns the definition of a plural with an annotation.
func annotated(plural, annotation string) string {
	return strings.NewReplacer("{name: widgets.example.com}",
		"{name: "+plural+".example.com, annotations: {holdfast.dev/immutability: '"+annotation+"'}}",
		"plural: widgets, kind: Widget", "plural: "+plural+", kind: "+strings.ToUpper(plural[:1])+plural[1:]).Replace(widgetsDefinition)
}

// webhooks returns the names of the webhooks that the configuration has for a resource.
func (f *fixture) webhooks(resource string) string {
	f.Helper()
	found, err := f.of(configurations).Get(f.Context(), guard.Name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	var names []string
	webhooks, _, _ := unstructured.NestedSlice(found.Object, "webhooks")
	for _, each := range webhooks {
		webhook, _ := each.(map[string]any)
		if strings.Contains(string(encode(f.T, webhook["rules"])), `"`+resource+`"`) {
			name, _, _ := unstructured.NestedString(webhook, "name")
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// TestNewKinds checks that the API server asks about a kind with the annotation as soon as its definition is stored, and that other
// definitions, and other changes of definitions, do not need the guard.
func TestNewKinds(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.guarded("customresourcedefinitions")
	const free = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: probes.example.com, ` +
		`annotations: {holdfast.dev/immutability: immutable spec}}, spec: {group: example.com, scope: Namespaced, ` +
		`names: {plural: probes, kind: Probe}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: ` +
		`{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]}}`
	// The API server knows the webhook when it asks about a definition.
	probe := yamltest.Object(t, free)
	waittest.Until(t, "the guard is asked about definitions", func() bool {
		if _, err := f.of(definitions).Create(t.Context(), probe, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		asked := f.webhooks("probes") != ""
		if err := f.of(definitions).Delete(t.Context(), probe.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the definition is gone", func() bool {
			_, err := f.of(definitions).Get(t.Context(), probe.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		return asked
	})
	for _, plural := range []string{"widgets", "gadgets", "gizmos"} {
		f.create(definitions, annotated(plural, "immutable spec.size"))
		if f.webhooks(plural) == "" {
			t.Errorf("%s is not guarded", plural)
		}
		waittest.Until(t, "the leader guards "+plural, func() bool { return f.webhooks(plural) == guard.ImmutableWebhook })
	}
	if got := f.patch(definitions, "widgets.example.com", `{metadata: {annotations: {holdfast.dev/immutability: immutable spec.replicas}}}`); got != "ok" {
		t.Error(got)
	}
	if f.webhooks("widgets/scale") == "" {
		t.Error("the scale is not guarded")
	}
	f.stop()
	const refused = "InternalError: "
	for _, test := range []struct{ what, got, want string }{
		{"a label", f.patch(definitions, "gadgets.example.com", `{metadata: {labels: {a: b}}}`), "ok"},
		{"the spec", f.patch(definitions, "gadgets.example.com", `{spec: {names: {shortNames: [g]}}}`), refused},
		{"the annotation", f.patch(definitions, "gadgets.example.com", `{metadata: {annotations: {holdfast.dev/immutability: immutable spec.note}}}`), refused},
		{"no annotation", f.patch(definitions, "gadgets.example.com", `{metadata: {annotations: {holdfast.dev/immutability: null}}}`), "ok"},
		{"the spec without the annotation", f.patch(definitions, "gadgets.example.com", `{spec: {names: {shortNames: [g]}}}`), "ok"},
	} {
		if !strings.HasPrefix(test.got, test.want) {
			t.Errorf("%s: %s, want %s", test.what, test.got, test.want)
		}
	}
	f.create(definitions, strings.Replace(annotated("things", ""), "annotations", "labels", 1))
	if _, err := f.of(definitions).Create(t.Context(), yamltest.Object(t, annotated("others", "immutable spec.size")), metav1.CreateOptions{}); !apierrors.IsInternalError(err) {
		t.Errorf("a definition with the annotation: %v", err)
	}
}

package definition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"holdfast.dev/holdfast/internal/definition"
)

func TestPrepareCreate(t *testing.T) {
	crd := read(t, widgets(`{type: object, properties: {b: {type: string}, a: {type: string}}}`))
	crd.Status.StoredVersions = []string{"v0"}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established}}
	crd.Generation = 7
	definition.Write{APIVersion: definition.V1}.Prepare(crd)
	if diff := cmp.Diff(definition.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}}, crd.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if crd.Generation != 1 {
		t.Errorf("generation %d", crd.Generation)
	}
	const sorted = `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`
	if diff := cmp.Diff(sorted, string(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

func TestPrepareUpdate(t *testing.T) {
	old := store(t, widgets(`{type: object, properties: {a: {type: string}, b: {type: string}}}`))
	old.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established}}
	w := definition.Write{APIVersion: definition.V1, Old: old}

	same := read(t, widgets(`{properties: {b: {type: string}, a: {type: string}}, type: object}`))
	w.Prepare(same)
	if same.Generation != 1 || len(same.Status.Conditions) != 1 {
		t.Errorf("the same spec in another order: generation %d, conditions %v", same.Generation, same.Status.Conditions)
	}

	other := read(t, widgets(`{type: object}`))
	other.Spec.Versions[0].Name = "v2"
	w.Prepare(other)
	if other.Generation != 2 {
		t.Errorf("another spec: generation %d", other.Generation)
	}
	if diff := cmp.Diff([]string{"v1", "v2"}, other.Status.StoredVersions); diff != "" {
		t.Errorf("stored versions (-want +got):\n%s", diff)
	}
}

func TestPrepareStatus(t *testing.T) {
	old := store(t, widgets(`{type: object}`))
	old.Status.Skeletons = []definition.VersionSkeleton{{Version: "v1", Schema: []byte(`{}`)}}
	crd := read(t, widgets(`{type: object, description: other}`))
	crd.Status.StoredVersions = []string{"v1"}
	crd.Status.AcceptedNames.Plural = "Widgets"
	w := definition.Write{APIVersion: definition.V1, Old: old}
	w.PrepareStatus(crd)
	if diff := cmp.Diff(old.Spec, crd.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(old.Status.Skeletons, crd.Status.Skeletons); diff != "" {
		t.Errorf("skeletons (-want +got):\n%s", diff)
	}
	crd.ResourceVersion = "1"
	want := []string{`status.acceptedNames.plural: Invalid value: "Widgets": ` +
		`a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, ` +
		`and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`}
	if diff := cmp.Diff(want, lines(w.ValidateStatus(t.Context(), crd))); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

// A write of the status can change metadata, so each annotation with rules that it changes is validated.
func TestValidateStatusAnnotations(t *testing.T) {
	const unsupported = `metadata.annotations[holdfast.dev/definition-policy]: Unsupported value: "never": supported values: "warn", "refuse-loss", "refuse-breaking"`
	for name, test := range map[string]struct {
		was, is string
		want    []string
	}{
		"policy":               {"", "holdfast.dev/definition-policy: never", []string{unsupported}},
		"policy, as before":    {"holdfast.dev/definition-policy: never", "holdfast.dev/definition-policy: never", nil},
		"policy, from now on":  {"", "holdfast.dev/definition-policy: warn", nil},
		"a rule":               {"", "holdfast.dev/immutability: immutable spec.a", nil},
		"an unknown field":     {"", "holdfast.dev/immutability: immutable spec.b", []string{"metadata.annotations[holdfast.dev/immutability]: Invalid value: immutable spec.b: no version has this field"}},
		"a rule that is wrong": {"", "holdfast.dev/immutability: immutable-keys spec.a", []string{"metadata.annotations[holdfast.dev/immutability]: Forbidden: version v1: "}},
		"references":           {"", "holdfast.dev/references: x", []string{"metadata.annotations[holdfast.dev/references]: Invalid value: "}},
		"references as before": {"holdfast.dev/references: x", "holdfast.dev/references: x", nil},
	} {
		definitionWith := func(annotations string) *definition.CustomResourceDefinition {
			text := widgets(`{type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}`)
			crd := read(t, strings.Replace(text, "{name: widgets.example.com}", "{name: widgets.example.com, resourceVersion: '1', annotations: {"+annotations+"}}", 1))
			definition.Write{APIVersion: definition.V1}.Prepare(crd)
			return crd
		}
		w := definition.Write{APIVersion: definition.V1, Old: definitionWith(test.was)}
		got := lines(w.ValidateStatus(t.Context(), definitionWith(test.is)))
		if len(got) != len(test.want) || len(got) > 0 && !strings.HasPrefix(got[0], test.want[0]) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestSkeletons(t *testing.T) {
	const text = `{type: object, description: about, properties: {spec: {anyOf: [{properties: {a: {type: string}}}, ` +
		`{properties: {b: {type: integer}}}]}}}`
	crd := read(t, widgets(text))
	w := definition.Write{APIVersion: definition.V1}
	w.Prepare(crd)
	if len(crd.Status.Skeletons) > 0 {
		t.Errorf("not asked for: %v", crd.Status.Skeletons)
	}
	crd.Annotations = map[string]string{definition.ShowSkeletonAnnotation: "true"}
	w.Prepare(crd)
	want := []definition.VersionSkeleton{{
		Version: "v1",
		Schema:  []byte(`{"properties":{"spec":{"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}},"type":"object"}`),
	}}
	if diff := cmp.Diff(want, crd.Status.Skeletons); diff != "" {
		t.Errorf("skeletons (-want +got):\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	crd := read(t, widgets(`{type: object}`))
	names := apiextensionsv1.CustomResourceDefinitionNames{
		Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList",
	}
	if diff := cmp.Diff(names, crd.Spec.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
		t.Errorf("conversion %v", crd.Spec.Conversion)
	}
	webhook := read(t, widgets(`{type: object}`)+"  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], "+
		"clientConfig: {service: {name: a, namespace: b}}}}\n")
	if port := webhook.Spec.Conversion.Webhook.ClientConfig.Service.Port; port == nil || *port != 443 {
		t.Errorf("port %v", port)
	}
	beta := readV1beta1(t, widgetsV1beta1("conversion: {strategy: Webhook, webhookClientConfig: {service: {name: a, namespace: b}}}"))
	want := &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ConversionReviewVersions: []string{"v1beta1"},
		ClientConfig: &apiextensionsv1.WebhookClientConfig{
			Service: &apiextensionsv1.ServiceReference{Name: "a", Namespace: "b", Port: new(int32(443))},
		},
	}}
	if diff := cmp.Diff(want, beta.Spec.Conversion); diff != "" {
		t.Errorf("conversion in v1beta1 (-want +got):\n%s", diff)
	}
	if beta.Spec.Scope != apiextensionsv1.NamespaceScoped || beta.Spec.StorageVersion() != "v1" ||
		!cmp.Equal(beta.Status.StoredVersions, []string{"v1"}) {
		t.Errorf("scope %q, storage version %q, stored versions %v", beta.Spec.Scope, beta.Spec.StorageVersion(), beta.Status.StoredVersions)
	}
}

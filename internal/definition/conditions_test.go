package definition_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition"
)

func TestNonStructural(t *testing.T) {
	const at = "NonStructuralSchema=True Violations: spec.versions[0].schema.openAPIV3Schema"
	tests := map[string]struct{ schema, want string }{
		"structural": {schema: `{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}`},
		"a missing type": {
			schema: `{type: object, properties: {a: {}}}`,
			want:   at + ".properties[a].type: Required value: must not be empty for specified object fields",
		},
		"patternProperties": {
			schema: `{type: object, properties: {x: {type: object, patternProperties: {a: {}}}}}`,
			want:   at + ": Invalid value: OpenAPIV3Schema 'patternProperties' is not supported",
		},
		"a type inside logic": {
			schema: `{type: object, allOf: [{type: object}]}`,
			want:   at + ".allOf[0].type: Forbidden: must be empty to be structural",
		},
		"text inside logic": {
			schema: `{type: object, allOf: [{description: x}]}`,
			want:   at + ".allOf[0].description: Forbidden: must be empty to be structural",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if c, ok := definition.NonStructural(store(t, widgets(test.schema))); ok {
				got = say(c)
			}
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
	t.Run("not pruned", func(t *testing.T) {
		c, ok := definition.NonStructural(storeV1beta1(t, widgetsV1beta1(`prune: false`)))
		if want := "NonStructuralSchema=True Violations: spec.preserveUnknownFields: Invalid value: true: must be false"; !ok || say(c) != want {
			t.Errorf("got  %q\nwant %q", say(c), want)
		}
	})
	t.Run("very many", func(t *testing.T) {
		var fields strings.Builder
		for i := range 100 {
			fields.WriteString("a" + strings.Repeat("b", i) + ": {}, ")
		}
		c, _ := definition.NonStructural(store(t, widgets(`{type: object, properties: {`+fields.String()+`}}`)))
		if !strings.HasSuffix(c.Message, "; and 80 more") {
			t.Errorf("message ends %q", c.Message[len(c.Message)-40:])
		}
	})
}

func TestEstablish(t *testing.T) {
	crd := store(t, widgets(`{type: object}`))
	if c, ok := definition.Establish(crd); ok {
		t.Errorf("without names: %s", say(c))
	}
	now := metav1.NewTime(time.Unix(1, 0))
	_, namesAccepted, established := definition.AcceptNames(crd, nil)
	definition.SetCondition(crd, namesAccepted, now)
	definition.SetCondition(crd, established, now)

	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte("no certificate")},
		},
	}
	if c, ok := definition.Establish(crd); !ok || say(c) != "Established=False InvalidCABundle: The conversion webhook CABundle is invalid" {
		t.Errorf("with a bad bundle: %v %s", ok, say(c))
	}
	crd.Spec.Conversion = nil
	c, ok := definition.Establish(crd)
	if !ok || say(c) != "Established=True InitialNamesAccepted: the initial names have been accepted" {
		t.Fatalf("got %v %s", ok, say(c))
	}
	later := metav1.NewTime(time.Unix(2, 0))
	if !definition.SetCondition(crd, c, later) || definition.SetCondition(crd, c, metav1.NewTime(time.Unix(3, 0))) {
		t.Error("setting a condition once makes a difference, twice does not")
	}
	if got := definition.FindCondition(crd, apiextensionsv1.Established).LastTransitionTime; !got.Equal(&later) {
		t.Errorf("transition at %v", got)
	}
	if c, ok := definition.Establish(crd); ok {
		t.Errorf("when established: %s", say(c))
	}
	if !definition.RemoveCondition(crd, apiextensionsv1.Established) || definition.RemoveCondition(crd, apiextensionsv1.Established) {
		t.Error("removing a condition once makes a difference, twice does not")
	}
	if definition.IsConditionTrue(crd, apiextensionsv1.Established) || !definition.IsConditionTrue(crd, apiextensionsv1.NamesAccepted) {
		t.Errorf("left: %v", crd.Status.Conditions)
	}
}

func TestAPIApproval(t *testing.T) {
	tests := map[string]struct{ group, annotation, want string }{
		"another group": {group: "example.com"},
		"missing":       {group: "x.k8s.io", want: "KubernetesAPIApprovalPolicyConformant=False MissingAnnotation"},
		"approved": {
			group:      "x.k8s.io",
			annotation: "https://github.com/kubernetes/enhancements/pull/1111",
			want:       "KubernetesAPIApprovalPolicyConformant=True ApprovedAnnotation",
		},
		"bypassed": {
			group:      "x.kubernetes.io",
			annotation: "unapproved, an experiment",
			want:       "KubernetesAPIApprovalPolicyConformant=False UnapprovedAnnotation",
		},
		"invalid": {group: "x.k8s.io", annotation: "yes", want: "KubernetesAPIApprovalPolicyConformant=False InvalidAnnotation"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			crd := &definition.CustomResourceDefinition{}
			crd.Spec.Group = test.group
			if test.annotation != "" {
				crd.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: test.annotation}
			}
			got := ""
			if c, ok := definition.APIApproval(crd); ok {
				got, _, _ = strings.Cut(say(c), ":")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

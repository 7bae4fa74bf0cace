package controller_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/waittest"
)

const sharing = `
parameters: [{name: VERB, default: get}, {name: ROLE, default: "true"}, {name: KIND, default: "false"}]
templates:
  role.yaml: |
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: shared-reader}
    rules: [{apiGroups: [""], resources: [pods], verbs: ['{{ .Params.VERB }}']}]
  kind.yaml: |
    {{ if eq .Params.KIND "true" }}
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: widgets.shared.example.com}
    spec:
      group: shared.example.com
      scope: Namespaced
      names: {kind: Widget, plural: widgets}
      versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
    {{ end }}
tasks:
- {name: role, kind: Toggle, spec: {parameter: ROLE, resources: [role.yaml]}}
- {name: kind, kind: Apply, spec: {resources: [kind.yaml]}}
plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [role, kind]}]}]}}
`

var (
	clusterRoles   = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	definitionKind = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	widgets        = schema.GroupVersionResource{Group: "shared.example.com", Version: "v1", Resource: "widgets"}
)

// TestSharedObjects checks which Instances use, change and delete a cluster-scoped object.
func TestSharedObjects(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "sharing", "0.1.0", sharing)
	c.operator(t, "stranger", "0.1.0", sharing)
	install := func(name string, values map[string]string) metav1.Condition {
		t.Helper()
		operator, _, _ := strings.Cut(name, "-")
		c.install(t, name, operator+"-0.1.0", values)
		return c.awaitEnd(t, name)
	}
	set := func(name, parameter, value string) {
		t.Helper()
		if err := c.change(t, name, func(i *api.Instance) {
			if i.Spec.Parameters == nil {
				i.Spec.Parameters = map[string]string{}
			}
			i.Spec.Parameters[parameter] = value
		}); err != nil {
			t.Fatal(err)
		}
		c.awaitComplete(t, name)
	}
	owners := func(names ...string) string {
		t.Helper()
		var uids []types.UID
		for _, name := range names {
			uids = append(uids, c.instance(t, name).UID)
		}
		return api.OwnersText(uids)
	}
	// role checks the owners of the ClusterRole, its verb, and the Instance in its label.
	role := func(wantOwners, wantVerb, wantLabel string) {
		t.Helper()
		found := c.get(t, "rbac.authorization.k8s.io/clusterroles", "shared-reader")
		if found == nil {
			t.Fatal("the ClusterRole is gone")
		}
		rules, _, _ := unstructured.NestedSlice(found.Object, "rules")
		verb := rules[0].(map[string]any)["verbs"].([]any)[0]
		if names := api.OwnerNames(found); len(names) != len(api.Owners(found)) || !slices.Contains(names, c.Namespace+"/"+wantLabel) {
			t.Errorf("names of the owners: %v", names)
		}
		if got := found.GetAnnotations()[api.OwnerAnnotation]; got != wantOwners || verb != wantVerb ||
			found.GetLabels()[api.InstanceLabel] != wantLabel {
			t.Errorf("owners %s, want %s; verb %v, label %s", got, wantOwners, verb, found.GetLabels()[api.InstanceLabel])
		}
	}
	fails := func(condition metav1.Condition, message string) {
		t.Helper()
		if condition.Reason != string(api.FatalError) || !strings.Contains(condition.Message, message) {
			t.Errorf("%s: %s", condition.Reason, condition.Message)
		}
	}

	install("sharing-a", nil)
	install("sharing-b", nil)
	role(owners("sharing-a", "sharing-b"), "get", "sharing-a")
	fails(install("sharing-c", map[string]string{"VERB": "list"}),
		"ClusterRole shared-reader is used by other instances of operator sharing and would change")
	fails(install("stranger-d", nil), "ClusterRole shared-reader exists and is not of instance stranger-d")
	role(owners("sharing-a", "sharing-b"), "get", "sharing-a")

	// An Instance that no longer renders the object leaves, and the object stays for the other.
	set("sharing-b", "ROLE", "false")
	role(owners("sharing-a"), "get", "sharing-a")

	// The object outlives its last Instance. An Instance that comes later takes it over.
	last := owners("sharing-a")
	if err := c.kudo("instances").Delete(t.Context(), "sharing-a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the instance deleted", func() bool {
		_, err := c.kudo("instances").Get(t.Context(), "sharing-a", metav1.GetOptions{})
		return err != nil
	})
	role(last, "get", "sharing-a")
	set("sharing-c", "VERB", "watch")
	role(owners("sharing-c"), "watch", "sharing-c")

	// A definition with objects is not pruned.
	set("sharing-c", "KIND", "true")
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "shared.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"},
	}}
	waittest.Until(t, "a widget", func() error {
		_, err := c.Dynamic.Resource(widgets).Namespace(c.Namespace).Create(t.Context(), widget, metav1.CreateOptions{})
		return err
	})
	defined := func() bool {
		_, err := c.Dynamic.Resource(definitionKind).Get(t.Context(), "widgets.shared.example.com", metav1.GetOptions{})
		return err == nil
	}
	set("sharing-c", "KIND", "false")
	if !defined() {
		t.Fatal("the definition of existing objects was pruned")
	}
	if err := c.Dynamic.Resource(widgets).Namespace(c.Namespace).Delete(t.Context(), "w", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	set("sharing-c", "ROLE", "false")
	waittest.Until(t, "the definition pruned", func() bool { return !defined() })
	if _, err := c.Dynamic.Resource(clusterRoles).Get(t.Context(), "shared-reader", metav1.GetOptions{}); err == nil {
		t.Error("the object that the last instance deletes exists")
	}
}

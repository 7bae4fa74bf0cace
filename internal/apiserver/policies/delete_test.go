package policies_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
)

// TestNoDelete checks the rules no-delete of policies, and of the annotation of a definition.
func TestNoDelete(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(definitions, strings.Replace(widgetsDefinition, "{name: widgets.example.com}",
		`{name: widgets.example.com, annotations: {holdfast.dev/immutability: 'no-delete while oldSelf.spec.size == "L"'}}`, 1))
	f.create(definitions, strings.NewReplacer("widgets", "gears", "Widget", "Gear", "{name: widgets.example.com}",
		`{name: gears.example.com, annotations: {holdfast.dev/immutability: 'v1: no-delete'}}`).Replace(widgetsDefinition))
	f.create("default/gears.v1.example.com", `{apiVersion: example.com/v1, kind: Gear, metadata: {name: a}}`)
	for _, version := range []string{"v1", "v2"} {
		err := f.of("default/gears."+version+".example.com").Delete(t.Context(), "a", metav1.DeleteOptions{})
		f.want("an object in "+version+" with a rule of v1", outcome(err), `the rule "v1: no-delete" keeps it`)
	}
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: small}, spec: {size: S}}`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: large}, spec: {size: L}}`)
	for _, name := range []string{"a", "b"} {
		f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, labels: {keep: "yes"}}, data: {state: used}}`)
	}
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}`)
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: empty, labels: {keep: "yes"}}}`)
	f.policy("keep", `{resources: [configmaps], rules: ['no-delete unless retire while oldSelf.data.state == "used"'],
  objectSelector: {matchLabels: {keep: "yes"}}}`)
	f.wantStatus("keep", "True", "all rules are in force")
	f.grant("ann", []string{"configmaps", "widgets"}, []string{"delete", "patch", "get"})
	f.grant("bob", []string{"configmaps", "widgets"}, []string{"delete", "get", "retire"})
	ann, bob := f.as("ann"), f.as("bob")
	remove := func(by *fixture, resource, name string) error {
		return by.of(resource).Delete(t.Context(), name, metav1.DeleteOptions{})
	}
	err := remove(ann, configMaps, "a")
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "of policy keep") {
		t.Errorf("a kept object: %v", err)
	}
	if err := remove(ann, configMaps, "empty"); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "could not be evaluated: no such key: data") {
		t.Errorf("an object without the fields of the condition: %v", err)
	}
	f.want("an object that is not selected", outcome(remove(ann, configMaps, "other")), "ok")
	f.want("with the right", outcome(remove(bob, configMaps, "a")), "ok")
	f.want("its label", ann.patch(configMaps, "b", `{metadata: {labels: {keep: null}}}`), "would no longer select it")
	f.want("its state", ann.patch(configMaps, "b", `{data: {state: free}}`), "ok")
	f.want("the rule does not hold", outcome(remove(ann, configMaps, "b")), "ok")
	f.want("a small widget", outcome(remove(ann, widgets, "small")), "ok")
	if err := remove(ann, widgets, "large"); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "no-delete") {
		t.Errorf("a large widget: %v", err)
	}
}

package owners_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/yamltest"
)

// model is a kind for random histories: a file is a base with some of the fields.
type model struct {
	resource schema.GroupVersionResource
	typed    runtime.Object
	base     string
	// fields has JSON merge patches by the path of the field, with %s for a value.
	fields map[string]string
	// items are the fields inside of a list. They are YAML of the list item.
	containers, env map[string]string
}

var models = map[string]model{
	"ConfigMap": {
		resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, typed: &corev1.ConfigMap{},
		base: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, namespace: default}}`,
		fields: map[string]string{
			".data.a": `{data: {a: %s}}`, ".data.b": `{data: {b: %s}}`, ".data.c": `{data: {c: %s}}`,
			".metadata.labels.x": `{metadata: {labels: {x: %s}}}`, ".metadata.annotations.note": `{metadata: {annotations: {note: %s}}}`,
		},
	},
	"Deployment": {
		resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, typed: &appsv1.Deployment{},
		base: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME, namespace: default}, spec: {selector: {matchLabels: {app: web}}, ` +
			`template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}`,
		fields: map[string]string{
			".metadata.labels.x": `{metadata: {labels: {x: %s}}}`, ".spec.template.metadata.annotations.note": `{spec: {template: {metadata: {annotations: {note: %s}}}}}`,
			".spec.template.spec.hostname": `{spec: {template: {spec: {hostname: %s}}}}`,
		},
		containers: map[string]string{`.spec.template.spec.containers[name="side"]`: `{name: side, image: %s}`},
		env: map[string]string{
			`.spec.template.spec.containers[name="web"].env[name="A"]`: `{name: A, value: %s}`,
			`.spec.template.spec.containers[name="web"].env[name="B"]`: `{name: B, value: %s}`,
		},
	},
}

// names returns the paths of all fields of a model.
func (m model) names() []string {
	return slices.Sorted(maps.Keys(m.all()))
}

func (m model) all() map[string]string {
	all := maps.Clone(m.fields)
	maps.Copy(all, m.containers)
	maps.Copy(all, m.env)
	return all
}

// file returns a file with fields and their values.
func (m model) file(t testing.TB, name string, values map[string]string) *unstructured.Unstructured {
	t.Helper()
	obj := yamltest.Object(t, strings.ReplaceAll(m.base, "NAME", name))
	for path, text := range m.fields {
		if value, ok := values[path]; ok {
			merge(obj.Object, yamltest.Map(t, fmt.Sprintf(text, value)))
		}
	}
	if len(m.containers)+len(m.env) == 0 {
		return obj
	}
	spec := obj.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	list := spec["containers"].([]any)
	web := list[0].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(m.env)) {
		if value, ok := values[path]; ok {
			items, _ := web["env"].([]any)
			web["env"] = append(items, yamltest.Map(t, fmt.Sprintf(m.env[path], value)))
		}
	}
	for path, text := range m.containers {
		if value, ok := values[path]; ok {
			list = append(list, yamltest.Map(t, fmt.Sprintf(text, value)))
		}
	}
	spec["containers"] = list
	return obj
}

// merge merges a patch into an object.
func merge(into, patch map[string]any) {
	for name, value := range patch {
		below, ok := value.(map[string]any)
		old, isObject := into[name].(map[string]any)
		if ok && isObject {
			merge(old, below)
			continue
		}
		into[name] = value
	}
}

package faults_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// kind is a kind of objects that writers change.
type kind struct {
	resource string
	// path is the path of the collection.
	path string
	// object is a new object as YAML. NAME stands for the short name that a writer chooses, and VALUE
	// for a value.
	object string
	// suffix completes the short name to the name of the object.
	suffix string
	// value is the field that writers change.
	value []string
	// writers is the number of writers.
	writers int
}

// kinds are the kinds that the tests write.
var kinds = []*kind{{
	resource: "configmaps", path: "/api/v1/namespaces/faults/configmaps", writers: 2, value: []string{"data", "value"},
	object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {value: VALUE}}`,
}, {
	resource: "secrets", path: "/api/v1/namespaces/faults/secrets", writers: 2, value: []string{"data", "value"},
	object: `{apiVersion: v1, kind: Secret, metadata: {name: NAME}, data: {value: VALUE}}`,
}, {
	resource: "widgets", path: "/apis/faults.holdfast.dev/v1/namespaces/faults/widgets", writers: 2, value: []string{"spec", "value"},
	object: `{apiVersion: faults.holdfast.dev/v1, kind: Widget, metadata: {name: NAME}, spec: {value: VALUE}}`,
}, {
	resource: "services", path: "/api/v1/namespaces/faults/services", writers: 2, value: []string{"metadata", "annotations", "value"},
	object: `{apiVersion: v1, kind: Service, metadata: {name: NAME, annotations: {value: VALUE}},
  spec: {type: NodePort, selector: {app: NAME}, ports: [{port: 80}]}}`,
}, {
	resource: "customresourcedefinitions", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", writers: 1,
	suffix: "s.made.holdfast.dev", value: []string{"metadata", "annotations", "value"},
	object: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: NAMEs.made.holdfast.dev, annotations: {value: VALUE}}
spec:
  group: made.holdfast.dev
  scope: Namespaced
  names: {plural: NAMEs, kind: NAME}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`,
}, {
	resource: "instances", path: "/apis/kudo.dev/v1beta1/namespaces/plans/instances", writers: 2,
	value: []string{"spec", "parameters", "VALUE"},
	object: `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: NAME},
  spec: {operatorVersion: {name: steps-0.1.0}, parameters: {VALUE: VALUE}}}`,
}}

// newObject returns an object with a short name and a value.
func (k *kind) newObject(name, value string) map[string]any {
	text := strings.NewReplacer("NAME", name, ": VALUE", ": "+value).Replace(k.object)
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		panic(err) // the texts above are YAML
	}
	return object
}

// change returns a merge patch that sets the value.
func (k *kind) change(value string) map[string]any {
	patch := map[string]any{}
	_ = unstructured.SetNestedField(patch, value, k.value...)
	return patch
}

// item returns the path of an object.
func (k *kind) item(name string) string { return k.path + "/" + name }

// stateOf returns the state of a stored object. An object that is being deleted counts as deleted.
func (k *kind) stateOf(object map[string]any) state {
	if deleted, _, _ := unstructured.NestedString(object, "metadata", "deletionTimestamp"); deleted != "" {
		return state{}
	}
	value, _, _ := unstructured.NestedString(object, k.value...)
	return state{exists: true, value: value}
}

func nameOf(object map[string]any) string {
	name, _, _ := unstructured.NestedString(object, "metadata", "name")
	return name
}

// items returns the objects of a list.
func items(list map[string]any) []map[string]any {
	all, _ := list["items"].([]any)
	objects := make([]map[string]any, 0, len(all))
	for _, item := range all {
		if object, ok := item.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// Quotas and plans of the tests. The quota of ConfigMaps is so small that the writers reach it.
const (
	quotaConfigMaps = 10

	prepared = `
{apiVersion: v1, kind: Namespace, metadata: {name: faults}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: plans}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.faults.holdfast.dev}
spec:
  group: faults.holdfast.dev
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {value: {type: string}}}}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: counts, namespace: faults}
spec:
  hard: {count/configmaps: "10", count/secrets: "1000", services: "1000", services.nodeports: "1000", count/widgets.faults.holdfast.dev: "1000"}
---
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: steps-0.1.0, namespace: plans}
spec:
  operator: {name: steps}
  version: 0.1.0
  parameters: [{name: VALUE, required: true}]
  templates:
    a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-a'}, data: {value: '{{ .Params.VALUE }}'}}"
    b.yaml: "{apiVersion: v1, kind: Secret, metadata: {name: '{{ .Name }}-b'}, data: {value: '{{ .Params.VALUE }}'}}"
    c.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-c'}, data: {value: '{{ .Params.VALUE }}'}}"
  tasks:
  - {name: a, kind: Apply, spec: {resources: [a.yaml]}}
  - {name: b, kind: Apply, spec: {resources: [b.yaml]}}
  - {name: c, kind: Apply, spec: {resources: [c.yaml]}}
  plans:
    deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}, {name: b, tasks: [b]}, {name: c, tasks: [c]}]}]}
`
)

// prepare creates the namespaces, the quota, the custom resource and the operator of the tests.
func prepare(t *testing.T, c *client) {
	t.Helper()
	paths := map[string]string{
		"Namespace": "/api/v1/namespaces", "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
		"ResourceQuota": "/api/v1/namespaces/faults/resourcequotas", "OperatorVersion": "/apis/kudo.dev/v1beta1/namespaces/plans/operatorversions",
	}
	for text := range strings.SplitSeq(prepared, "\n---\n") {
		object := yamltest.Map(t, text)
		path, _ := object["kind"].(string)
		waittest.Until(t, "the server creates a "+path, func() error { return c.create(t.Context(), paths[path], object).err })
	}
	waittest.Until(t, "the server serves "+kinds[2].resource, func() error { return c.get(t.Context(), kinds[2].path).err })
}

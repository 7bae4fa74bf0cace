package apiserver_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// A value of a parameter of an Instance is a reference, as each string of a custom resource without declared references. A name that a template composes
// of values counts when the object that it renders is stored.
func TestReferencesOfInstances(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client, index := server.Cluster(t), server.References()
	for _, name := range []string{"settings-1", "settings-2", "settings-3"} {
		newSecret(t, client, "default", name)
	}
	kudo := schema.GroupVersion{Group: "kudo.dev", Version: "v1beta1"}
	applyObject(t, client.Dynamic.Resource(kudo.WithResource("operatorversions")).Namespace("default"), yamltest.Object(t, `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: web-0.1.0}
spec:
  operator: {name: web}
  version: 0.1.0
  parameters: [{name: config, default: settings-0}, {name: number, default: "0"}]
  plans: {deploy: {strategy: serial, phases: [{name: p, strategy: serial, steps: [{name: s, tasks: [pod]}]}]}}
  tasks: [{name: pod, kind: Apply, spec: {resources: [pod.yaml]}}]
  templates:
    pod.yaml: |
      apiVersion: v1
      kind: ServiceAccount
      metadata: {name: web}
      imagePullSecrets: [{name: "settings-{{ .Params.number }}"}]
`))
	instances := client.Dynamic.Resource(kudo.WithResource("instances")).Namespace("default")
	applyObject(t, instances, yamltest.Object(t, `
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata: {name: web}
spec: {operatorVersion: {name: web-0.1.0}, parameters: {config: settings-1, number: "3"}}
`))
	awaitUse(t, index, "default/settings-1", true)
	awaitUse(t, index, "default/settings-2", false)
	awaitUse(t, index, "default/settings-3", true) // the ServiceAccount of the plan refers to it
}

// A definition may declare all templates of pods that its schema describes. Other strings of its objects then are no references.
func TestReferencesOfTemplates(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client, index := server.Cluster(t), server.References()
	for _, name := range []string{"hull", "sail"} {
		newSecret(t, client, "default", name)
	}
	crd := func(template string) {
		t.Helper()
		applyObject(t, client.Dynamic.Resource(crdResource), yamltest.Object(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.sea.example.com, annotations: {holdfast.dev/references: PodTemplate *}}
spec:
  group: sea.example.com
  names: {kind: Boat, plural: boats}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties: `+template+`
`))
	}
	const shape = `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {spec: {type: object, ` +
		`x-kubernetes-preserve-unknown-fields: true, properties: {containers: {type: array, items: {type: object, ` +
		`x-kubernetes-preserve-unknown-fields: true, properties: {name: {type: string}, image: {type: string}}}}}}}}`
	crd("{crew: " + shape + "}")
	applyObject(t, client.Dynamic.Resource(boatResource).Namespace("default"), yamltest.Object(t, `
apiVersion: sea.example.com/v1
kind: Boat
metadata: {name: one}
spec:
  crew: {spec: {containers: [{name: a, image: a, envFrom: [{secretRef: {name: hull}}]}]}}
  any: sail
  guests: {spec: {containers: [{name: a, image: a, envFrom: [{secretRef: {name: sail}}]}]}}
`))
	awaitUse(t, index, "default/hull", true)
	awaitUse(t, index, "default/sail", false)
	// A change of the schema changes where the templates are.
	crd("{guests: " + shape + "}")
	awaitUse(t, index, "default/hull", false)
	awaitUse(t, index, "default/sail", true)
}

package console

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// hostile is text that runs a script if a page takes it as HTML.
const hostile = `<img src=x onerror=window.pwned=1><script>window.pwned=1</script>`

// The resources that the tests use.
var (
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets      = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	definitions  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	boats        = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "boats"}
	versions     = schema.GroupVersionResource{Group: "kudo.dev", Version: "v1beta1", Resource: "operatorversions"}
	instances    = schema.GroupVersionResource{Group: "kudo.dev", Version: "v1beta1", Resource: "instances"}
)

// objects writes objects as the administrator, and as a command of kubectl.
type objects struct {
	t      *testing.T
	client dynamic.Interface
}

func newObjects(t *testing.T, server *servertest.Server) objects {
	t.Helper()
	config := rest.CopyConfig(server.Config(t))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return commands{next} })
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return objects{t, client}
}

// commands names the command of kubectl in the header that kubectl sends, by the field manager of
// a patch.
type commands struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c commands) RoundTrip(req *http.Request) (*http.Response, error) {
	if name, ok := strings.CutPrefix(req.URL.Query().Get("fieldManager"), "kubectl-"); ok && req.Method == http.MethodPatch {
		req = req.Clone(req.Context())
		req.Header.Set("Kubectl-Command", "kubectl "+name)
	}
	return c.next.RoundTrip(req)
}

func (o objects) in(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	if resource == clusterRoles || resource == definitions || resource == namespaces || resource == policies {
		return o.client.Resource(resource)
	}
	return o.client.Resource(resource).Namespace("default")
}

// create creates an object from YAML. It waits until a kind that was just defined is served.
func (o objects) create(resource schema.GroupVersionResource, manager, text string) {
	o.t.Helper()
	obj := yamltest.Object(o.t, text)
	if text := obj.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"]; text == "SELF" {
		obj.SetAnnotations(nil)
		data, err := obj.MarshalJSON()
		if err != nil {
			o.t.Fatal(err)
		}
		obj.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": string(data)})
	}
	var failed error
	waittest.Until(o.t, "create "+obj.GetName(), func() bool {
		_, failed = o.in(resource).Create(o.t.Context(), obj, metav1.CreateOptions{FieldManager: manager})
		return failed == nil || resource.Group != "example.org"
	})
	if failed != nil {
		o.t.Fatal(failed)
	}
}

// patch changes an object with a merge patch.
func (o objects) patch(resource schema.GroupVersionResource, name, manager, body string, subresource ...string) {
	o.t.Helper()
	options := metav1.PatchOptions{FieldManager: manager}
	_, err := o.in(resource).Patch(o.t.Context(), name, types.MergePatchType, []byte(body), options, subresource...)
	if err != nil {
		o.t.Fatal(err)
	}
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
  labels: {app: web, team: harbour}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: SELF}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.27"}]}
`

const boatDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.example.org
  annotations:
    holdfast.dev/immutability: |
      immutable spec.crew unless muster while has(oldSelf.spec.hull)
      no-delete unless scrap
spec:
  group: example.org
  names: {plural: boats, kind: Boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              hull: {type: string, x-kubernetes-immutable: true}
              crew: {type: integer}
              berths:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                x-kubernetes-addition-only: true
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string, x-kubernetes-immutable: true}, length: {type: integer}}
`

const boat = `
apiVersion: example.org/v1
kind: Boat
metadata: {name: kestrel, namespace: default}
spec: {hull: steel, crew: 3, berths: [{name: fore, length: 190}]}
`

const operatorVersion = `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: shop-0.1.0}
spec:
  operator: {name: shop}
  version: 0.1.0
  parameters: [{name: IMAGE, default: a}, {name: STORE, default: disk, immutable: true}]
  templates:
    web.yaml: |
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: '{{ .Name }}'}
      spec:
        selector: {matchLabels: {app: shop}}
        template: {metadata: {labels: {app: shop}}, spec: {containers: [{name: a, image: '{{ .Params.IMAGE }}'}]}}
    after.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-{{ .Params.IMAGE }}'}}"
  tasks:
  - {name: web, kind: Apply, spec: {resources: [web.yaml]}}
  - {name: after, kind: Apply, spec: {resources: [after.yaml]}}
  plans: {deploy: {phases: [{name: main, steps: [{name: web, tasks: [web]}, {name: after, tasks: [after]}]}]}}
`

const instance = `
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata: {name: shop}
spec: {operatorVersion: {name: shop-0.1.0}}
`

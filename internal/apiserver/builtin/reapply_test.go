package builtin_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestReapply applies an object again with a part that the server ignores, or stores in another form. Nothing changes, so the object keeps
// its resourceVersion and the times of its managers. Otherwise every apply of an exported manifest would be a write.
func TestReapply(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	objects := dynamic.NewForConfigOrDie(server.Config(t))
	definition := "spec: {group: example.com, scope: Cluster, names: {plural: boats, kind: Boat}, " +
		"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}"
	for name, test := range map[string]struct{ kind, resource, object, again, subresource string }{
		"status": {
			kind: "policy/v1 PodDisruptionBudget", resource: "poddisruptionbudgets", object: "spec: {minAvailable: 1}",
			again: "{spec: {minAvailable: 1}, status: {observedGeneration: 80, currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 1}}",
		},
		"spec of a status": {
			kind: "apps/v1 Deployment", resource: "deployments", subresource: "status",
			object: "status: {replicas: 1}", again: "{spec: {replicas: 5}, status: {replicas: 1}}",
		},
		"empty list": {
			kind: "discovery.k8s.io/v1 EndpointSlice", resource: "endpointslices",
			object: "{addressType: IPv4, endpoints: []}", again: "{addressType: IPv4, endpoints: []}",
		},
		"status of a definition": {
			kind: "apiextensions.k8s.io/v1 CustomResourceDefinition", resource: "customresourcedefinitions", object: definition,
			again: "{" + definition + ", status: {storedVersions: [v9], conditions: [], acceptedNames: {plural: x, kind: X}}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			version, kind := splitKind(t, test.kind)
			resource := objects.Resource(version.WithResource(test.resource))
			client, name := resource.Namespace("default"), "web"
			if kind == "CustomResourceDefinition" {
				client, name = resource, "boats.example.com"
			}
			if test.subresource != "" {
				createExample(t, client, version.WithKind(kind), workload)
				name = "example"
			}
			apply := func(text string) (resourceVersion string) {
				object := yamltest.Object(t, text)
				object.SetGroupVersionKind(version.WithKind(kind))
				object.SetName(name)
				body, err := object.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				got, err := client.Patch(t.Context(), name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "m"}, subresources(test.subresource)...)
				if err != nil {
					t.Fatal(err)
				}
				return got.GetResourceVersion()
			}
			apply(test.object)
			// The times of managers have whole seconds, so the test moves the first apply to another second. The server keeps the times
			// if nothing else changes.
			earlier := []byte(`[{"op": "replace", "path": "/metadata/managedFields/0/time", "value": "2020-01-01T00:00:00Z"},
  {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]`)
			stored, err := client.Patch(t.Context(), name, types.JSONPatchType, earlier, metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := apply(test.again); got != stored.GetResourceVersion() {
				t.Errorf("resourceVersion %s became %s", stored.GetResourceVersion(), got)
			}
		})
	}
}

func subresources(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// splitKind splits the text "apps/v1 Deployment".
func splitKind(t *testing.T, text string) (version schema.GroupVersion, kind string) {
	t.Helper()
	apiVersion, kind, _ := strings.Cut(text, " ")
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		t.Fatal(err)
	}
	return version, kind
}

package apiserver_test

import (
	"fmt"
	"slices"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// An etcd outside of the process compares fewer keys in a transaction than there are kinds here. The first object of a kind still stops a delete of the
// object that it refers to, and no other delete.
func TestReferencesOfManyKinds(t *testing.T) {
	t.Parallel()
	store := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	server := servertest.Start(t, apiserver.Config{Etcd: store})
	client, index := server.Cluster(t), server.References()
	const kinds, groups = 150, 30
	resource := func(i int) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: fmt.Sprintf("g%d.example.com", i%groups), Version: "v1", Resource: fmt.Sprintf("k%ds", i)}
	}
	for i := range kinds {
		of := resource(i)
		crd := yamltest.Object(t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s}
spec:
  group: %s
  scope: Namespaced
  names: {kind: K%d, plural: %s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]`,
			of.GroupResource(), of.Group, i, of.Resource))
		if _, err := client.Dynamic.Resource(crdResource).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range kinds {
		waittest.Until(t, "the kind is served", func() error {
			_, err := client.Dynamic.Resource(resource(i)).List(t.Context(), metav1.ListOptions{})
			return err
		})
	}
	write := func(namespace string, kind int, secret string) {
		t.Helper()
		object := yamltest.Object(t, fmt.Sprintf("{apiVersion: %s, kind: K%d, metadata: {name: o-%s}, spec: {any: %s}}",
			resource(kind).GroupVersion(), kind, secret, secret))
		if _, err := client.Dynamic.Resource(resource(kind)).Namespace(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// The server writes a definition when the first object of it is stored, and that stops deletes too. So the kind has an object elsewhere.
	other := servertest.CreateNamespace(t, client, "other-")
	check := func(when string, kind int, refers bool) {
		t.Helper()
		write(other, kind, "none")
		awaitJudged(t, client, resource(kind).GroupResource().String())
		secret := fmt.Sprintf("s-%d", kind)
		newSecret(t, client, "default", secret)
		awaitUse(t, index, "default/"+secret, false)
		fenced, ok, err := index.Unreferenced(t.Context(), references.Secret, "default", secret)
		if err != nil || !ok {
			t.Fatalf("%s: %t, %v", when, ok, err)
		}
		if refers {
			write("default", kind, secret)
		} else {
			write("default", kind, "other-"+secret)
		}
		if err := deleteFenced(fenced, server, secret); (err == nil) == refers {
			t.Errorf("%s: deleted %t: %v", when, err == nil, err)
		}
	}
	check("the first object in the namespace refers to it", kinds-1, true)
	check("the first object in the namespace refers to another one", kinds-2, false)
	for i := range kinds - 4 {
		write("default", i, "none")
	}
	for i := range kinds - 4 {
		awaitJudged(t, client, resource(i).GroupResource().String())
	}
	check("the first object in the namespace refers to it, and many kinds have objects", kinds-3, true)
	check("the first object in the namespace refers to another one, and many kinds have objects", kinds-4, false)
}

// awaitJudged waits until the server has judged the first object of a definition, and has written the definition for that.
func awaitJudged(t *testing.T, client servertest.Cluster, definition string) {
	t.Helper()
	waittest.Until(t, "the server has judged the first object of "+definition, func() bool {
		crd, err := client.Dynamic.Resource(crdResource).Get(t.Context(), definition, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(one any) bool { return one.(map[string]any)["type"] == "StoredObjectsValid" })
	})
}

package keep_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// shared are the clients of the administrator. Each test has namespaces and definitions of its own.
var shared cluster

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(config *rest.Config) error {
		shared = cluster{servertest.NewCluster(config)}
		return nil
	}))
}

type cluster struct{ servertest.Cluster }

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// in returns the cluster with another namespace.
func (c cluster) in(namespace string) cluster {
	c.Namespace = namespace
	return c
}

// as returns the cluster with the rights of another user.
func (c cluster) as(user string, groups ...string) cluster {
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return cluster{servertest.NewCluster(config)}.in(c.Namespace)
}

// newNamespace returns the cluster with a new namespace.
func newNamespace(t testing.TB) cluster {
	t.Helper()
	return shared.in(servertest.CreateNamespace(t, shared, "keep-"))
}

// create creates an object and returns the error.
func (c cluster) create(t testing.TB, resource schema.GroupVersionResource, text string) error {
	t.Helper()
	object := yamltest.Object(t, text)
	if resource == namespaces || resource == definitions {
		_, err := c.Dynamic.Resource(resource).Create(t.Context(), object, metav1.CreateOptions{})
		return err
	}
	_, err := c.Dynamic.Resource(resource).Namespace(c.Namespace).Create(t.Context(), object, metav1.CreateOptions{})
	return err
}

func (c cluster) mustCreate(t testing.TB, resource schema.GroupVersionResource, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := c.create(t, resource, text); err != nil {
			t.Fatal(err)
		}
	}
}

// patch sends a merge patch of the metadata and returns the error.
func (c cluster) patch(t testing.TB, resource schema.GroupVersionResource, name, metadata string, subresources ...string) error {
	t.Helper()
	data := yamltest.JSON(t, "{metadata: "+metadata+"}")
	var err error
	if resource == namespaces || resource == definitions {
		_, err = c.Dynamic.Resource(resource).Patch(t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
	} else {
		_, err = c.Dynamic.Resource(resource).Namespace(c.Namespace).
			Patch(t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
	}
	return err
}

// delete deletes an object and returns the error.
func (c cluster) delete(t testing.TB, resource schema.GroupVersionResource, name string, options metav1.DeleteOptions) error {
	t.Helper()
	if resource == namespaces || resource == definitions {
		return c.Dynamic.Resource(resource).Delete(t.Context(), name, options)
	}
	return c.Dynamic.Resource(resource).Namespace(c.Namespace).Delete(t.Context(), name, options)
}

// names returns the names of the objects of a resource, without the ConfigMap that every namespace has.
func (c cluster) names(t testing.TB, resource schema.GroupVersionResource) string {
	t.Helper()
	list, err := c.Dynamic.Resource(resource).Namespace(c.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		if item.GetName() != "kube-root-ca.crt" {
			names = append(names, item.GetName())
		}
	}
	return strings.Join(names, " ")
}

// define creates a definition, in a group of its own, and returns the resource. Its kind is Boat.
func define(t testing.TB, group string) schema.GroupVersionResource {
	t.Helper()
	shared.mustCreate(t, definitions, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.`+group+`}
spec:
  group: `+group+`
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {hull: {type: string}}}, status: {type: object}}}}
`)
	resource := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "boats"}
	waittest.Until(t, "the boats are served", func() error {
		_, err := shared.Dynamic.Resource(resource).Namespace("default").List(t.Context(), metav1.ListOptions{})
		return err
	})
	return resource
}

func boat(group, metadata string) string {
	return "{apiVersion: " + group + "/v1, kind: Boat, metadata: " + metadata + ", spec: {hull: wood}}"
}

func configMap(metadata string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: " + metadata + "}"
}

// wantRefusal checks that an error is a refusal that contains texts, and not the words of a changed field.
func wantRefusal(t testing.TB, err error, texts ...string) {
	t.Helper()
	if !apierrors.IsConflict(err) || !keep.IsRefusal(err) {
		t.Fatalf("error %v, want 409 with the cause ObjectKept", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want %q in it", err, text)
		}
	}
	if strings.Contains(err.Error(), "field is immutable") {
		t.Errorf("error %q has the words of a changed field", err)
	}
}

// causesOf returns the number of causes of an error.
func causesOf(err error) int {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return 0
	}
	return len(status.Status().Details.Causes)
}

func conditionOf(obj *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			message, _ := c["message"].(string)
			return message
		}
	}
	return ""
}

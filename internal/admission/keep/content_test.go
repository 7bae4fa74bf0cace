package keep_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/waittest"
)

const always = `annotations: {holdfast.dev/keep: always}`

// A namespace with kept objects is not deleted, and nothing in it is.
func TestNamespace(t *testing.T) {
	t.Parallel()
	boats := define(t, "namespace.example.com")
	c := newNamespace(t)
	c.mustCreate(t, configMaps, configMap(`{name: free}`), configMap(`{name: a, `+always+`}`), configMap(`{name: b, `+always+`}`))
	for i := range 5 {
		c.mustCreate(t, boats, boat("namespace.example.com", fmt.Sprintf(`{name: boat%d, %s}`, i, always)))
	}
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		err := c.delete(t, namespaces, c.Namespace, metav1.DeleteOptions{DryRun: dryRun})
		wantRefusal(t, err, `namespaces "`+c.Namespace+`" cannot be deleted: it holds 7 objects that must be kept: configmaps/a, configmaps/b, `+
			`boats.namespace.example.com/boat0, boats.namespace.example.com/boat1, boats.namespace.example.com/boat2 and 2 more`)
		if causesOf(err) != 5 {
			t.Errorf("%d causes, want 5", causesOf(err))
		}
	}
	if got, want := c.names(t, configMaps), "a b free"; got != want {
		t.Errorf("after a refusal: %s, want %s", got, want)
	}
	if err := c.patch(t, namespaces, c.Namespace, `{labels: {a: b}}`); err != nil {
		t.Errorf("the namespace after a refusal: %v", err)
	}
}

// The annotation of a namespace keeps it always, or while it has objects besides those that every namespace has.
func TestKeptNamespace(t *testing.T) {
	t.Parallel()
	c := newNamespace(t)
	for _, step := range []struct{ value, want string }{
		{"always", "the annotation holdfast.dev/keep: always keeps it"},
		{"while-objects", "keeps it while it holds objects, and it holds 1 object: configmaps/a;"},
	} {
		if err := c.patch(t, namespaces, c.Namespace, `{annotations: {holdfast.dev/keep: `+step.value+`}}`); err != nil {
			t.Fatal(err)
		}
		if step.value == "while-objects" {
			c.mustCreate(t, configMaps, configMap(`{name: a}`))
		}
		wantRefusal(t, c.delete(t, namespaces, c.Namespace, metav1.DeleteOptions{}), step.want)
	}
	if err := c.delete(t, configMaps, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the namespace has what every namespace has", func() bool {
		_, err := c.CoreV1().ConfigMaps(c.Namespace).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil
	})
	if err := c.delete(t, namespaces, c.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Errorf("without objects: %v", err)
	}
}

// An object that becomes kept while its namespace is terminating stays, and the namespace names it.
func TestTerminatingNamespace(t *testing.T) {
	t.Parallel()
	c := newNamespace(t)
	c.mustCreate(t, configMaps, configMap(`{name: a, finalizers: [example.com/hold]}`))
	// A claim of a pod is not deleted before the pod. The finalizer of the pod keeps the others until the object is kept.
	c.mustCreate(t, configMaps.GroupVersion().WithResource("pods"),
		`{apiVersion: v1, kind: Pod, metadata: {name: first, finalizers: [example.com/hold]}, spec: {containers: [{name: a, image: a}]}}`)
	c.mustCreate(t, configMaps, configMap(`{name: late}`), configMap(`{name: free}`))
	if err := c.delete(t, namespaces, c.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.patch(t, configMaps, "late", `{`+always+`}`); err != nil {
		t.Fatal(err)
	}
	for object, resource := range map[string]string{"first": "pods", "a": "configmaps"} {
		if err := c.patch(t, configMaps.GroupVersion().WithResource(resource), object, `{finalizers: []}`); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "the namespace names the object", func() error {
		found, err := c.Dynamic.Resource(namespaces).Get(t.Context(), c.Namespace, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if message := conditionOf(found, "NamespaceDeletionContentFailure"); !strings.Contains(message, `configmaps "late" cannot be deleted`) {
			return fmt.Errorf("condition %q", message)
		}
		return nil
	})
	waittest.Until(t, "the others are gone", func() error {
		if got := c.names(t, configMaps); got != "late" {
			return fmt.Errorf("left: %s", got)
		}
		return nil
	})
	namespace, err := c.CoreV1().Namespaces().Get(t.Context(), c.Namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	namespace.Spec.Finalizers = nil
	_, err = c.CoreV1().Namespaces().Finalize(t.Context(), namespace, metav1.UpdateOptions{})
	wantRefusal(t, err, "it holds 1 object that must be kept: configmaps/late")
	if err := c.patch(t, configMaps, "late", `{annotations: {holdfast.dev/keep: null}}`); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the namespace is gone", func() bool {
		_, err := c.Dynamic.Resource(namespaces).Get(t.Context(), c.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// A definition with kept objects is not deleted, and objects can be created afterwards. With while-objects, any object keeps it.
func TestDefinition(t *testing.T) {
	t.Parallel()
	const group, name = "definition.example.com", "boats.definition.example.com"
	boats, c := define(t, group), newNamespace(t)
	c.mustCreate(t, boats, boat(group, `{name: free}`), boat(group, `{name: a, `+always+`}`))
	remove := func(options metav1.DeleteOptions) error { return c.delete(t, definitions, name, options) }
	before, err := c.Dynamic.Resource(definitions).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		wantRefusal(t, remove(metav1.DeleteOptions{DryRun: dryRun}), `it holds 1 object that must be kept: boats.definition.example.com/a;`)
	}
	err = c.Dynamic.Resource(definitions).DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	wantRefusal(t, err, "1 object of customresourcedefinitions.apiextensions.k8s.io", name)
	// A refusal does not change the definition. A garbage collector would try again after each change. The server may write the condition about
	// stored objects meanwhile.
	after, err := c.Dynamic.Resource(definitions).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range []*unstructured.Unstructured{before, after} {
		for _, path := range [][]string{{"status"}, {"metadata", "resourceVersion"}, {"metadata", "managedFields"}} {
			unstructured.RemoveNestedField(found.Object, path...)
		}
	}
	if diff := cmp.Diff(before.Object, after.Object); diff != "" {
		t.Errorf("after refusals (-before +after):\n%s", diff)
	}
	c.mustCreate(t, boats, boat(group, `{name: b}`))
	if err := c.patch(t, boats, "a", `{annotations: {holdfast.dev/keep: null}}`); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ value, want string }{
		{"always", "the annotation holdfast.dev/keep: always keeps it"},
		{"while-objects", "keeps it while it holds objects, and it holds 3 objects: "},
	} {
		if err := c.patch(t, definitions, name, `{annotations: {holdfast.dev/keep: `+step.value+`}}`); err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, remove(metav1.DeleteOptions{}), step.want)
	}
	if err := c.Dynamic.Resource(boats).Namespace(c.Namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	// The server writes the condition of the definition meanwhile.
	waittest.Until(t, "without objects, the definition is deleted at its version", func() error {
		found, err := c.Dynamic.Resource(definitions).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		version := found.GetResourceVersion()
		return remove(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
	})
	waittest.Until(t, "the definition is gone", func() bool {
		_, err := c.Dynamic.Resource(definitions).Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

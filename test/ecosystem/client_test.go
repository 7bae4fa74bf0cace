package ecosystem_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/waittest"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// client installs definitions and stores objects.
type client struct {
	dynamic   dynamic.Interface
	said      *warnings
	resources map[schema.GroupVersionKind]resource
}

// resource is the resource of a kind.
type resource struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// warnings records the warnings of the server.
type warnings struct {
	mu   sync.Mutex
	text []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.text = nil }()
	return w.text
}

func newClient(t *testing.T, config *rest.Config) *client {
	t.Helper()
	c := &client{said: &warnings{}, resources: map[schema.GroupVersionKind]resource{}}
	config.WarningHandler = c.said
	var err error
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *client) serves(gvk schema.GroupVersionKind) bool {
	_, ok := c.resources[gvk]
	return ok
}

// install creates a definition and waits until it is established. It asserts that
// the server stores it unchanged and without a warning.
func (c *client) install(t *testing.T, m manifest) {
	t.Helper()
	strict := metav1.CreateOptions{FieldValidation: "Strict"}
	if _, err := c.dynamic.Resource(definitions).Create(t.Context(), m.Unstructured, strict); err != nil {
		t.Fatalf("%s: %v", m.file, err)
	}
	var got *unstructured.Unstructured
	waittest.Until(t, m.GetName()+" is established", func() bool {
		var err error
		got, err = c.dynamic.Resource(definitions).Get(t.Context(), m.GetName(), metav1.GetOptions{})
		return err == nil && condition(got, "Established") == "True"
	})
	if accepted, loose := condition(got, "NamesAccepted"), condition(got, "NonStructuralSchema"); accepted != "True" || loose != "" {
		t.Errorf("%s: NamesAccepted %q, NonStructuralSchema %q", m.file, accepted, loose)
	}
	if said := c.said.take(); len(said) > 0 {
		t.Errorf("%s: warnings %q", m.file, said)
	}
	if lost := missing("spec", m.Object["spec"], got.Object["spec"]); len(lost) > 0 {
		t.Errorf("%s is not stored as it was sent:\n%s", m.file, strings.Join(lost, "\n"))
	}
	c.note(m)
}

// note records the resource that a definition defines.
func (c *client) note(m manifest) {
	field := func(path ...string) string {
		value, _, _ := unstructured.NestedString(m.Object, path...)
		return value
	}
	versions, _, _ := unstructured.NestedSlice(m.Object, "spec", "versions")
	for _, v := range versions {
		version := v.(map[string]any)
		if version["served"] != true {
			continue
		}
		gv := schema.GroupVersion{Group: field("spec", "group"), Version: version["name"].(string)}
		c.resources[gv.WithKind(field("spec", "names", "kind"))] = resource{
			resource: gv.WithResource(field("spec", "names", "plural")), namespaced: field("spec", "scope") == "Namespaced",
		}
	}
}

// store creates an object with strict field validation and reads it back. It
// asserts that no field was lost, and that an update with the object as read and
// an apply of the object as sent change nothing.
func (c *client) store(t *testing.T, m manifest) {
	t.Helper()
	what := fmt.Sprintf("%s: %s %s", m.file, m.GroupVersionKind(), m.GetName())
	objects := c.objects(t, m)
	created, err := objects.Create(t.Context(), m.Unstructured, metav1.CreateOptions{FieldValidation: "Strict"})
	if apierrors.IsAlreadyExists(err) {
		// Two samples may have the same name. Delete the one that was stored before.
		if err = objects.Delete(t.Context(), m.GetName(), metav1.DeleteOptions{}); err == nil {
			created, err = objects.Create(t.Context(), m.Unstructured, metav1.CreateOptions{FieldValidation: "Strict"})
		}
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	read, err := objects.Get(t.Context(), m.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if diff := cmp.Diff(created.Object, read.Object); diff != "" {
		t.Errorf("%s differs between create and read (-created +read):\n%s", what, diff)
	}
	for _, field := range []string{"spec", "metadata"} {
		if lost := missing(field, m.Object[field], read.Object[field]); len(lost) > 0 {
			t.Errorf("%s is not stored as it was sent:\n%s", what, strings.Join(lost, "\n"))
		}
	}
	// The server sets defaults of the status on read, so the first update stores them.
	written := read
	for range 2 {
		read = written
		if written, err = objects.Update(t.Context(), read, metav1.UpdateOptions{FieldValidation: "Strict"}); err != nil {
			t.Errorf("%s: update with what was read: %v", what, err)
			return
		}
	}
	if written.GetResourceVersion() != read.GetResourceVersion() {
		t.Errorf("%s: writing what was read changed it:\n%s", what, cmp.Diff(read.Object, written.Object))
	}
	c.apply(t, what, m, read)
	said := slices.DeleteFunc(c.said.take(), func(text string) bool { return strings.Contains(text, "deprecated") })
	if len(said) > 0 {
		t.Errorf("%s: warnings %q", what, said)
	}
}

func (c *client) apply(t *testing.T, what string, m manifest, read *unstructured.Unstructured) {
	t.Helper()
	config, err := json.Marshal(m.Object)
	if err != nil {
		t.Fatal(err)
	}
	force := true
	options := metav1.PatchOptions{FieldManager: "ecosystem", Force: &force, FieldValidation: "Strict"}
	var versions []string
	for range 2 {
		applied, err := c.objects(t, m).Patch(t.Context(), m.GetName(), types.ApplyPatchType, config, options)
		if err != nil {
			t.Errorf("%s: apply: %v", what, err)
			return
		}
		if diff := cmp.Diff(read.Object["spec"], applied.Object["spec"]); diff != "" {
			t.Errorf("%s: apply changed the spec (-read +applied):\n%s", what, diff)
		}
		versions = append(versions, applied.GetResourceVersion())
	}
	if versions[0] != versions[1] {
		t.Errorf("%s: a second apply changed it", what)
	}
}

// objects returns the client for an object. It creates the namespace if needed.
func (c *client) objects(t *testing.T, m manifest) dynamic.ResourceInterface {
	t.Helper()
	where := c.resources[m.GroupVersionKind()]
	if !where.namespaced {
		return c.dynamic.Resource(where.resource)
	}
	namespace := m.GetNamespace()
	if namespace == "" {
		namespace = "default"
	}
	made := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}}
	_, err := c.dynamic.Resource(namespaces).Create(t.Context(), made, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return c.dynamic.Resource(where.resource).Namespace(namespace)
}

// missing lists the fields that were sent and are not stored. The server may add
// fields.
func missing(path string, sent, got any) []string {
	var out []string
	switch sent := sent.(type) {
	case nil:
		return nil
	case map[string]any:
		there, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v became %v", path, sent, got)}
		}
		for key, value := range sent {
			out = append(out, missing(path+"."+key, value, there[key])...)
		}
		return out
	case []any:
		there, ok := got.([]any)
		if !ok || len(there) != len(sent) {
			return []string{fmt.Sprintf("%s: %v became %v", path, sent, got)}
		}
		for i := range sent {
			out = append(out, missing(fmt.Sprintf("%s[%d]", path, i), sent[i], there[i])...)
		}
		return out
	}
	if !cmp.Equal(sent, got) {
		out = append(out, fmt.Sprintf("%s: %v became %v", path, sent, got))
	}
	return out
}

func condition(obj *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			return fmt.Sprint(c["status"])
		}
	}
	return ""
}

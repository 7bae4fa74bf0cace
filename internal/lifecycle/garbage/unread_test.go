package garbage_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestUnreadableKind deletes owners while the conversion webhook of one kind is down, after a
// restart of the server. Only the owners with dependents of this kind wait, and only if their
// policy requires it. When the kind can be read again, they go on.
func TestUnreadableKind(t *testing.T) {
	t.Parallel()
	config := apiserver.Config{DataDir: t.TempDir()}
	server := servertest.Start(t, config)
	connect := func() cluster { return cluster{server.Cluster(t)} }
	c := connect()
	widgets := c.defineWidgets(t, "example.com")
	tr, other := newTree(t, c, "shop"), newTree(t, c, "other")
	for _, name := range []string{"free", "foreground", "unblocked", "orphaned"} {
		tr.create(t, name)
		tr.create(t, "child-of-"+name, "!"+name)
	}
	other.create(t, "orphaned")
	other.create(t, "foreground")
	newTree(t, c, "empty")
	for _, owner := range []string{"!foreground", "unblocked", "orphaned"} {
		widgets.create(t, "shop", "of-"+strings.TrimPrefix(owner, "!"), tr.ref(t, owner))
	}

	widgets.setConversion(t, "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://127.0.0.1:1/'}}}")
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	server = servertest.Start(t, config)
	c = connect()
	tr.cluster, other.cluster, widgets = c, c, c.widgets("example.com")
	if _, err := widgets.inVersion("v2").List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Fatal("the kind can be read")
	}

	for name, policy := range map[string]metav1.DeletionPropagation{
		"free": metav1.DeletePropagationForeground, "foreground": metav1.DeletePropagationForeground,
		"unblocked": metav1.DeletePropagationForeground, "orphaned": metav1.DeletePropagationOrphan,
	} {
		tr.delete(t, name, policy)
	}
	other.delete(t, "orphaned", metav1.DeletePropagationOrphan)
	other.delete(t, "foreground", metav1.DeletePropagationForeground)
	if err := c.CoreV1().Namespaces().Delete(t.Context(), "empty", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// The orphaned owner waits for its widget, which cannot be written.
	tr.wait(t, "-foreground -orphaned child-of-orphaned")
	other.wait(t, "")
	waittest.Until(t, "a namespace without objects of the kind is gone", func() bool {
		_, err := c.CoreV1().Namespaces().Get(t.Context(), "empty", metav1.GetOptions{})
		return notFound(t, err)
	})

	widgets.setConversion(t, "{strategy: None, webhook: null}")
	tr.wait(t, "child-of-orphaned")
	waittest.Until(t, "the widgets are collected", func() bool {
		list, err := widgets.Namespace("shop").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false
		}
		left := ""
		for _, item := range list.Items {
			left += fmt.Sprintf("%s %d ", item.GetName(), len(item.GetOwnerReferences()))
		}
		return left == "of-orphaned 0 "
	})
}

// TestNamespaceWithUnreadableKind deletes a namespace that has an object of a kind that cannot
// be read. The other objects are deleted, and a condition names the kind.
func TestNamespaceWithUnreadableKind(t *testing.T) {
	t.Parallel()
	const group = "unreadable.example.com"
	tr := newTree(t, shared, "unreadable")
	widgets := shared.defineWidgets(t, group)
	widgets.create(t, tr.namespace, "kept")
	tr.create(t, "other")
	widgets.setConversion(t, "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://127.0.0.1:1/'}}}")
	if err := shared.CoreV1().Namespaces().Delete(t.Context(), tr.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	tr.wait(t, "")
	waittest.Until(t, "the condition names the kind", func() bool {
		ns, err := shared.CoreV1().Namespaces().Get(t.Context(), tr.namespace, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range ns.Status.Conditions {
			if condition.Type == corev1.NamespaceDeletionContentFailure && condition.Status == corev1.ConditionTrue &&
				strings.Contains(condition.Message, "widgets."+group+" cannot be read") {
				return true
			}
		}
		return false
	})
	widgets.setConversion(t, "{strategy: None, webhook: null}")
	waittest.Until(t, "the namespace is gone", func() bool {
		_, err := shared.CoreV1().Namespaces().Get(t.Context(), tr.namespace, metav1.GetOptions{})
		return notFound(t, err)
	})
	widgets.undefine(t)
}

// setConversion changes the conversion of Widgets, as YAML, and stores new objects in v2.
func (w widgets) setConversion(t testing.TB, conversion string) {
	t.Helper()
	patch := fmt.Appendf(nil, `
spec:
  conversion: %s
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}`, conversion)
	data := yamltest.JSON(t, patch)
	if _, err := w.definitions.Patch(t.Context(), "widgets."+w.group, types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// inVersion returns the Widgets in another version.
func (w widgets) inVersion(version string) dynamic.NamespaceableResourceInterface {
	return w.client.Resource(schema.GroupVersionResource{Group: w.group, Version: version, Resource: "widgets"})
}

package lifecycle_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/waittest"
)

// noProblems are the conditions of a namespace after its content was deleted without
// errors.
const noProblems = `NamespaceDeletionDiscoveryFailure False ResourcesDiscovered: All resources successfully discovered
NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions: All legacy kube types successfully parsed
NamespaceDeletionContentFailure False ContentDeleted: All content successfully deleted, may be waiting on finalization
NamespaceContentRemaining False ContentRemoved: All content successfully removed
NamespaceFinalizersRemaining False ContentHasNoFinalizers: All content-preserving finalizers finished
`

// withProblems returns noProblems with some conditions replaced.
func withProblems(lines ...string) string {
	conditions := strings.Split(noProblems, "\n")
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		for i := range conditions {
			if strings.HasPrefix(conditions[i], name+" ") {
				conditions[i] = line
			}
		}
	}
	return strings.Join(conditions, "\n")
}

func (c cluster) createNamespace(t testing.TB, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c cluster) deleteNamespace(t testing.TB, name string) {
	t.Helper()
	if err := c.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c cluster) namespaceGone(t testing.TB, name string) bool {
	t.Helper()
	_, err := c.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	return notFound(t, err)
}

func (c cluster) createConfigMap(t testing.TB, namespace, name string, finalizers ...string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
	if _, err := c.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// conditions returns the conditions of a namespace, one a line.
func (c cluster) conditions(t testing.TB, name string) string {
	t.Helper()
	ns, err := c.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, condition := range ns.Status.Conditions {
		fmt.Fprintf(&lines, "%s %s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	return lines.String()
}

// waitConditions waits until a namespace has these conditions.
func (c cluster) waitConditions(t testing.TB, name, want string) {
	t.Helper()
	waittest.Until(t, "conditions of "+name, func() error {
		if diff := cmp.Diff(want, c.conditions(t, name)); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

func TestNamespaceWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	c := startWithControllers(t)
	c.createNamespace(t, "shop")
	c.createConfigMap(t, "shop", "plain")
	c.createConfigMap(t, "shop", "held", "example.com/hold")
	c.createConfigMap(t, "shop", "held-twice", "example.com/hold", "example.com/other")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}}
	if _, err := c.CoreV1().Secrets("shop").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.createPod(t, "shop", newPod("unbound", "", 1))

	c.deleteNamespace(t, "shop")
	c.waitConditions(t, "shop", withProblems(
		"NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: configmaps. has 2 resource instances",
		"NamespaceFinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: "+
			"example.com/hold in 2 resource instances, example.com/other in 1 resource instances",
	))
	if _, err := c.CoreV1().Secrets("shop").Get(t.Context(), "key", metav1.GetOptions{}); !notFound(t, err) {
		t.Error("the Secret still exists")
	}

	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}
	_, err := c.CoreV1().ConfigMaps("shop").Create(t.Context(), object, metav1.CreateOptions{})
	want := `configmaps "late" is forbidden: unable to create new content in namespace shop because it is being terminated`
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || err.Error() != want {
		t.Errorf("creation in a terminating namespace: got %v, want %s", err, want)
	}

	for _, name := range []string{"held", "held-twice"} {
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		_, err := c.CoreV1().ConfigMaps("shop").Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "namespace gone", func() bool { return c.namespaceGone(t, "shop") })
}

// TestNamespaceDeletesPodsFirst checks that other objects are not deleted before the pods
// are gone.
func TestNamespaceDeletesPodsFirst(t *testing.T) {
	t.Parallel()
	c := startWithControllers(t)
	c.createNode(t, "alive", time.Now())
	c.createNamespace(t, "shop")
	c.createConfigMap(t, "shop", "used")
	// A pod that is still there after its grace period is a problem of its own in the conditions.
	const hour = 3600
	c.createPod(t, "shop", newPod("running", "alive", hour))

	c.deleteNamespace(t, "shop")
	c.waitConditions(t, "shop", withProblems(
		"NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances",
	))
	if _, err := c.CoreV1().ConfigMaps("shop").Get(t.Context(), "used", metav1.GetOptions{}); err != nil {
		t.Errorf("the ConfigMap is deleted before the pod: %v", err)
	}

	// Finish the deletion of the pod, like the agent of the node does.
	if err := c.CoreV1().Pods("shop").Delete(t.Context(), "running", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "namespace gone", func() bool { return c.namespaceGone(t, "shop") })
}

func TestNamespaceKeepsOtherFinalizers(t *testing.T) {
	t.Parallel()
	c := startWithControllers(t)
	ns := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"example.com/mine"}},
	}
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.deleteNamespace(t, "shop")
	waittest.Until(t, "the finalizer kubernetes is removed", func() bool {
		var err error
		if ns, err = c.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		return cmp.Equal(ns.Spec.Finalizers, []corev1.FinalizerName{"example.com/mine"})
	})
	if diff := cmp.Diff(noProblems, c.conditions(t, "shop")); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	ns.Spec.Finalizers = nil
	if _, err := c.CoreV1().Namespaces().Finalize(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "namespace gone", func() bool { return c.namespaceGone(t, "shop") })
}

// TestNamespaceWaitsForDiscovery checks that a namespace is not removed while the
// discovery of an API group fails.
func TestNamespaceWaitsForDiscovery(t *testing.T) {
	t.Parallel()
	c := startWithout(t)
	var failing atomic.Bool
	failing.Store(true)
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.URL.Path == "/apis/batch/v1" && failing.Load() {
				return &http.Response{
					StatusCode: http.StatusServiceUnavailable, Body: io.NopCloser(strings.NewReader("")), Request: request,
				}, nil
			}
			if strings.HasPrefix(request.Header.Get("Accept"), "application/json;g=apidiscovery.k8s.io") {
				// Do not use aggregated discovery, so that there is a request for each group.
				request = request.Clone(request.Context())
				request.Header.Set("Accept", "application/json")
			}
			return next.RoundTrip(request)
		})
	})
	startLeading(t, lifecycle.Config{Client: config})
	c.createNamespace(t, "shop")
	c.createConfigMap(t, "shop", "plain")
	c.deleteNamespace(t, "shop")
	c.waitConditions(t, "shop", withProblems(
		"NamespaceDeletionDiscoveryFailure True DiscoveryFailed: Discovery failed for some groups, 1 failing: "+
			"unable to retrieve the complete list of server APIs: batch/v1: the server is currently unable to handle the request",
	))
	if _, err := c.CoreV1().ConfigMaps("shop").Get(t.Context(), "plain", metav1.GetOptions{}); !notFound(t, err) {
		t.Error("an object of another group is not deleted")
	}

	failing.Store(false)
	waittest.Until(t, "namespace gone", func() bool { return c.namespaceGone(t, "shop") })
}

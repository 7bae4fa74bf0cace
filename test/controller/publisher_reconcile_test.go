package controller_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestReconcile creates, updates and deletes a Deployment.
func TestReconcile(t *testing.T) {
	config := servertest.Start(t, apiserver.Config{}).Config(t)
	direct := directClient(t, config)
	manager := newManager(t, config, ctrl.Options{})

	// Once, another client writes between the read and the write of the publisher.
	var disturbed atomic.Bool
	disturb := func(ctx context.Context, name client.ObjectKey) error {
		if disturbed.Swap(true) {
			return nil
		}
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name.Name, Namespace: name.Namespace}}
		return direct.Patch(ctx, deployment, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"touched": "true"}}}`)))
	}
	if err := addPublisher(manager, disturb); err != nil {
		t.Fatal(err)
	}
	start(t, manager)

	web := newDeployment("web", "nginx:1.27")
	if err := direct.Create(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	name := client.ObjectKeyFromObject(web)
	published := func(ctx context.Context) *corev1.ConfigMap {
		found := &corev1.ConfigMap{}
		if err := direct.Get(ctx, name, found); err != nil {
			return nil
		}
		return found
	}
	imageIs := func(want string) func() bool {
		return func() bool {
			found := published(t.Context())
			return found != nil && found.Data["image"] == want
		}
	}

	waittest.Until(t, "the image is published", imageIs("nginx:1.27"))
	waittest.Until(t, "the status says so, though the first update met a conflict", func() bool {
		err := direct.Get(t.Context(), name, web)
		return err == nil && web.Status.ObservedGeneration == web.Generation && len(web.Status.Conditions) == 1
	})
	if !disturbed.Load() || web.Labels["touched"] != "true" {
		t.Error("no write happened between the read and the update of the status")
	}
	if diff := cmp.Diff([]string{finalizer}, web.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}

	yes := true
	wantOwners := []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: web.UID, Controller: &yes, BlockOwnerDeletion: &yes},
	}
	if diff := cmp.Diff(wantOwners, published(t.Context()).OwnerReferences); diff != "" {
		t.Errorf("owners of the ConfigMap (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"publisher Apply"}, owners(published(t.Context()))); diff != "" {
		t.Errorf("field owners of the ConfigMap (-want +got):\n%s", diff)
	}

	waittest.Until(t, "an event tells of it", func() bool {
		var events corev1.EventList
		err := direct.List(t.Context(), &events, client.InNamespace(name.Namespace), client.MatchingFields{"involvedObject.uid": string(web.UID)})
		return err == nil && len(events.Items) > 0 && events.Items[0].Message == "published nginx:1.27" &&
			events.Items[0].ReportingController == "publisher"
	})

	t.Run("a change of the deployment is published", func(t *testing.T) {
		change(t, direct, web, `{"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "nginx:1.28"}]}}}}`)
		waittest.Until(t, "the new image is published", imageIs("nginx:1.28"))
	})

	t.Run("a change of what is published is undone", func(t *testing.T) {
		change(t, direct, published(t.Context()), `{"data": {"image": "tampered", "more": "kept"}}`)
		waittest.Until(t, "the image is back", imageIs("nginx:1.28"))
		if got := published(t.Context()).Data["more"]; got != "kept" {
			t.Errorf("a field of another owner is %q, want it kept", got)
		}
		if err := direct.Delete(t.Context(), published(t.Context())); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "what was deleted is back", imageIs("nginx:1.28"))
	})

	t.Run("the cache answers by index", func(t *testing.T) {
		if err := direct.Create(t.Context(), newDeployment("other", "postgres:17")); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the other deployment is found by its image", func() bool {
			var found appsv1.DeploymentList
			err := manager.GetClient().List(t.Context(), &found, client.MatchingFields{imageIndex: "postgres:17"})
			return err == nil && len(found.Items) == 1 && found.Items[0].Name == "other"
		})
	})

	t.Run("the deployment goes when its finalizer has", func(t *testing.T) {
		if err := direct.Delete(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the deployment is gone", func() bool {
			return apierrors.IsNotFound(direct.Get(t.Context(), name, &appsv1.Deployment{}))
		})
		if left := published(t.Context()); left != nil {
			t.Errorf("a ConfigMap is left: %s", left.Name)
		}
	})
}

func newDeployment(name, image string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	deployment.Spec.Template.Labels = labels
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Image: image}}
	return deployment
}

// change patches an object without reading it first.
func change(t *testing.T, c client.Client, obj client.Object, patch string) {
	t.Helper()
	if err := c.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// owners lists the field managers of an object and their operations.
func owners(obj client.Object) []string {
	var found []string
	for _, entry := range obj.GetManagedFields() {
		found = append(found, entry.Manager+" "+string(entry.Operation))
	}
	return found
}

package keep_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/yamltest"
)

// kinds returns a built-in kind and a custom resource, with functions that write an object with metadata.
func kinds(t testing.TB, group string) map[string]struct {
	resource schema.GroupVersionResource
	object   func(metadata string) string
} {
	t.Helper()
	boats := define(t, group)
	return map[string]struct {
		resource schema.GroupVersionResource
		object   func(metadata string) string
	}{
		"built-in": {configMaps, configMap},
		"custom":   {boats, func(metadata string) string { return boat(group, metadata) }},
	}
}

// A kept object is not deleted, not even by an administrator, and not marked as terminating either.
func TestDelete(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds(t, "delete.example.com") {
		t.Run(name, func(t *testing.T) {
			c := newNamespace(t)
			c.mustCreate(t, kind.resource, kind.object(`{name: a, annotations: {holdfast.dev/keep: always}}`),
				kind.object(`{name: b, annotations: {holdfast.dev/keep: always}, finalizers: [example.com/hold]}`), kind.object(`{name: free}`))
			foreground, now := metav1.DeletePropagationForeground, int64(0)
			for object, options := range map[string]metav1.DeleteOptions{
				"a": {}, "b": {PropagationPolicy: &foreground, GracePeriodSeconds: &now},
			} {
				wantRefusal(t, c.delete(t, kind.resource, object, options), `"`+object+`" cannot be deleted: the annotation holdfast.dev/keep: always keeps it`,
					"kubectl annotate "+kind.resource.GroupResource().String()+" "+object+" -n "+c.Namespace+" holdfast.dev/keep-")
				options.DryRun = []string{metav1.DryRunAll}
				wantRefusal(t, c.delete(t, kind.resource, object, options))
				found, err := c.Dynamic.Resource(kind.resource).Namespace(c.Namespace).Get(t.Context(), object, metav1.GetOptions{})
				if err != nil || found.GetDeletionTimestamp() != nil {
					t.Errorf("%s: %v, deleted at %v", object, err, found.GetDeletionTimestamp())
				}
			}
			if err := c.delete(t, kind.resource, "free", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			if err := c.patch(t, kind.resource, "a", `{annotations: {holdfast.dev/keep: null}}`); err != nil {
				t.Fatal(err)
			}
			if err := c.delete(t, kind.resource, "a", metav1.DeleteOptions{}); err != nil {
				t.Errorf("without the annotation: %v", err)
			}
		})
	}
}

// An object that is terminating already can be kept no more: a second deletion and its finalizers do what they do without the
// annotation.
func TestTerminating(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds(t, "terminating.example.com") {
		t.Run(name, func(t *testing.T) {
			c := newNamespace(t)
			c.mustCreate(t, kind.resource, kind.object(`{name: a, finalizers: [example.com/hold]}`))
			if err := c.delete(t, kind.resource, "a", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := c.patch(t, kind.resource, "a", `{annotations: {holdfast.dev/keep: always}}`); err != nil {
				t.Fatal(err)
			}
			if err := c.delete(t, kind.resource, "a", metav1.DeleteOptions{}); err != nil {
				t.Errorf("the second deletion: %v", err)
			}
			if err := c.patch(t, kind.resource, "a", `{finalizers: []}`); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Dynamic.Resource(kind.resource).Namespace(c.Namespace).Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("without finalizers: %v, want 404", err)
			}
		})
	}
}

// The deletion of a collection leaves out kept objects, deletes the others, and then names up to five of those that stay.
func TestDeleteCollection(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds(t, "collection.example.com") {
		t.Run(name, func(t *testing.T) {
			c := newNamespace(t)
			for _, object := range []string{"k1", "k2", "k3", "k4", "k5", "k6", "k7"} {
				c.mustCreate(t, kind.resource, kind.object(`{name: `+object+`, annotations: {holdfast.dev/keep: always}, labels: {all: "yes"}}`))
			}
			c.mustCreate(t, kind.resource, kind.object(`{name: a, labels: {all: "yes"}}`), kind.object(`{name: z, labels: {all: "yes"}}`))
			objects, which := c.Dynamic.Resource(kind.resource).Namespace(c.Namespace), metav1.ListOptions{LabelSelector: "all=yes"}
			err := objects.DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, which)
			wantRefusal(t, err, "7 objects of "+kind.resource.GroupResource().String()+" must be kept and would not be deleted: ",
				"; all others would be deleted; ")
			if got, want := c.names(t, kind.resource), "a k1 k2 k3 k4 k5 k6 k7 z"; got != want {
				t.Errorf("after a dry run: %s, want %s", got, want)
			}
			page := which
			page.Limit = 2 // a, which is deleted, and k1
			err = objects.DeleteCollection(t.Context(), metav1.DeleteOptions{}, page)
			wantRefusal(t, err, "1 object of ", "/k1; all others of this page (limit, continue) were deleted; ")
			if got, want := c.names(t, kind.resource), "k1 k2 k3 k4 k5 k6 k7 z"; got != want {
				t.Errorf("after a page: %s, want %s", got, want)
			}
			listed, err := objects.List(t.Context(), page)
			if err != nil {
				t.Fatal(err)
			}
			rest := which
			rest.Continue = listed.GetContinue() // from k3 on
			err = objects.DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, rest)
			wantRefusal(t, err, "5 objects of ", "; all others of this page (limit, continue) would be deleted; ")
			which.Limit = 20 // more than there are
			err = objects.DeleteCollection(t.Context(), metav1.DeleteOptions{}, which)
			wantRefusal(t, err, "7 objects of "+kind.resource.GroupResource().String()+" must be kept and were not deleted: ", "/k1, ", "/k5 and 2 more",
				"; all others were deleted; ")
			if causesOf(err) != 5 {
				t.Errorf("%d causes, want 5", causesOf(err))
			}
			if got, want := c.names(t, kind.resource), "k1 k2 k3 k4 k5 k6 k7"; got != want {
				t.Errorf("left: %s, want %s", got, want)
			}
			if err := objects.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "all=no"}); err != nil {
				t.Errorf("a collection without kept objects: %v", err)
			}
		})
	}
}

// The controller of Deployments copies annotations to ReplicaSets, which it deletes. So the annotation of a Deployment keeps only the
// Deployment.
func TestReplicaSetOfDeployment(t *testing.T) {
	t.Parallel()
	c := newNamespace(t)
	for name, test := range map[string]struct {
		owners string
		kept   bool
	}{
		"owned": {owners: `[{apiVersion: apps/v1, kind: Deployment, name: web, uid: "1", controller: true}]`},
		"free":  {owners: `[]`, kept: true},
	} {
		set := yamltest.Decode[appsv1.ReplicaSet](t, `{metadata: {name: `+name+`, annotations: {holdfast.dev/keep: always}, ownerReferences: `+test.owners+`},
			spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`)
		if _, err := c.AppsV1().ReplicaSets(c.Namespace).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		err := c.AppsV1().ReplicaSets(c.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
		if test.kept {
			wantRefusal(t, err)
			// A user without the verb cannot give it an owner on which the annotation has no effect.
			err := bindTo(t, c, "edit").patch(t, appsv1.SchemeGroupVersion.WithResource("replicasets"), name,
				`{ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: "1", controller: true}]}`)
			if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "a user that may unlock it can change it") {
				t.Errorf("an owner of a kept ReplicaSet: %v", err)
			}
		} else if err != nil && !apierrors.IsNotFound(err) { // the garbage collector may be first
			t.Errorf("%s: %v", name, err)
		}
	}
}

package replace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/waittest"
)

var (
	orphan = []string{"propagationPolicy", "Orphan"}
	adopt  = []string{"propagationPolicy", "Orphan", "adopt", "true"}
)

// dependent is an object with an owner reference.
type dependent struct {
	cluster
	resource schema.GroupVersionResource
	created  *unstructured.Unstructured
}

// owned creates an object of a kind with owner references.
func (c cluster) owned(t testing.TB, resource schema.GroupVersionResource, kind, name string, owners ...metav1.OwnerReference) dependent {
	t.Helper()
	object := metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: resource.GroupVersion().String(), Kind: kind}, ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
	}
	created, err := c.send(t, c.CoreV1().RESTClient().Post().AbsPath(c.path(resource, "")), object)
	if err != nil {
		t.Fatal(err)
	}
	return dependent{c, resource, created}
}

// owners returns the owner references of the object, which must be the one that was created.
func (d dependent) owners(ctx context.Context) ([]metav1.OwnerReference, error) {
	stored, err := d.get(ctx, d.resource, d.created.GetName())
	if err == nil && (stored.GetUID() != d.created.GetUID() || stored.GetDeletionTimestamp() != nil) {
		err = fmt.Errorf("%s was deleted", d.created.GetName())
	}
	if err != nil {
		return nil, err
	}
	return stored.GetOwnerReferences(), nil
}

// await waits until the object has owner references.
func (d dependent) await(t testing.TB, want ...metav1.OwnerReference) {
	t.Helper()
	waittest.Until(t, d.resource.Resource+" "+d.created.GetName()+" has its owners", func() error {
		got, err := d.owners(t.Context())
		switch {
		case apierrors.IsNotFound(err):
			t.Fatalf("%s %s was deleted", d.resource.Resource, d.created.GetName())
		case err != nil:
			return err
		case len(got) != len(want) || len(got) > 0 && !equal(got, want):
			return fmt.Errorf("owners %+v, want %+v", got, want)
		}
		return nil
	})
}

// referTo returns a reference to an object that is a controller and blocks its deletion in the foreground.
func referTo(object *unstructured.Unstructured) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(), UID: object.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// collectedAfter waits until the collector has deleted a dependent of an object of the namespace, after which it has handled what came before.
func (c cluster) collectedAfter(t testing.TB) {
	t.Helper()
	gone := c.owned(t, configMaps, "ConfigMap", "probe", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "none", UID: "none"})
	waittest.Until(t, "the collector has deleted another object", func() bool {
		_, err := c.get(t.Context(), configMaps, gone.created.GetName())
		return apierrors.IsNotFound(err)
	})
}

// The dependents of a replaced object of every kind of storage stay: their references get the new UID, or are removed.
func TestKeptDependents(t *testing.T) {
	t.Parallel()
	boats := defineBoats(t, "keep.example.com")
	for name, owner := range map[string]struct {
		resource schema.GroupVersionResource
		text     string
	}{
		"a built-in kind":   {deployments, deployment},
		"encrypted":         {secrets, `{apiVersion: v1, kind: Secret, metadata: {name: a}}`},
		"a custom resource": {boats, `{apiVersion: keep.example.com/v1, kind: Boat, metadata: {name: a}, spec: {hull: wood}}`},
		"with history":      {configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {holdfast.dev/history: fields}}}`},
	} {
		for mode, parameters := range map[string][]string{"adopt": adopt, "orphan": orphan} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				old := c.create(t, owner.resource, owner.text)
				other := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}`)
				ref, second := referTo(old), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: other.GetUID()}
				all := []dependent{
					c.owned(t, configMaps, "ConfigMap", "one", ref), c.owned(t, secrets, "Secret", "two", ref),
					c.owned(t, boats, "Boat", "three", ref), c.owned(t, configMaps, "ConfigMap", "four", second, ref),
				}
				if _, err := c.replace(t, owner.resource, old, append([]string{"dryRun", "All"}, parameters...)...); err != nil {
					t.Fatal(err)
				}
				for i, d := range all {
					if got, err := d.owners(t.Context()); err != nil || !equal(got, d.created.GetOwnerReferences()) {
						t.Fatalf("dependent %d after a dry run: %v, %v", i, got, err)
					}
				}
				created := c.mustReplace(t, owner.resource, old, parameters...)
				for _, d := range all {
					var want []metav1.OwnerReference
					for _, was := range d.created.GetOwnerReferences() {
						switch {
						case was.UID != old.GetUID():
							want = append(want, was)
						case mode == "adopt":
							was.UID = created.GetUID()
							want = append(want, was)
						}
					}
					d.await(t, want...)
				}
				if mode == "adopt" {
					// The new object is a real owner: its dependents go with it.
					path := c.path(owner.resource, created.GetName())
					if err := c.CoreV1().RESTClient().Delete().AbsPath(path).Do(t.Context()).Error(); err != nil {
						t.Fatal(err)
					}
					for _, d := range all[:3] {
						waittest.Until(t, "the dependents of the new object are deleted", func() bool {
							_, err := d.owners(t.Context())
							return apierrors.IsNotFound(err)
						})
					}
				}
			})
		}
	}
}

// An owner without a namespace has dependents in many.
func TestKeptInNamespaces(t *testing.T) {
	t.Parallel()
	first, second := newCluster(t), newCluster(t)
	role, err := first.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "owner-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + role.Name
	for mode, parameters := range map[string][]string{"adopt": adopt, "orphan": orphan} {
		old, err := do(t.Context(), first.CoreV1().RESTClient().Get().AbsPath(path))
		if err != nil {
			t.Fatal(err)
		}
		all := []dependent{
			first.owned(t, configMaps, "ConfigMap", mode, referTo(old)), second.owned(t, configMaps, "ConfigMap", mode, referTo(old)),
		}
		put := first.CoreV1().RESTClient().Put().AbsPath(path).Param("holdfast", "replace")
		for i := 0; i < len(parameters); i += 2 {
			put = put.Param(parameters[i], parameters[i+1])
		}
		created, err := first.send(t, put, old.Object)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			if mode == "adopt" {
				d.await(t, referTo(created))
			} else {
				d.await(t)
			}
		}
	}
}

// A controller sets the reference to the old object again and again, before, while and after the object is replaced. No dependent is deleted,
// and when the controller stops, none refers to the old object.
func TestHostileController(t *testing.T) {
	t.Parallel()
	for mode, parameters := range map[string][]string{"adopt": adopt, "orphan": orphan} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`)
			var all []dependent
			for i := range 5 {
				all = append(all, c.owned(t, configMaps, "ConfigMap", fmt.Sprint("child-", i), referTo(old)))
			}
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []any{referTo(old)}}})
			if err != nil {
				t.Fatal(err)
			}
			replaced, set := make(chan struct{}), make(chan error, 1)
			var running sync.WaitGroup
			running.Go(func() {
				// Before the replacement, and 20 times after it.
				for after := 0; after < 20; {
					select {
					case <-replaced:
						after++
					default:
					}
					for _, d := range all {
						if _, err := c.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), d.created.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
							set <- err
							return
						}
					}
				}
				set <- nil
			})
			created := c.mustReplace(t, configMaps, old, parameters...)
			late := c.owned(t, configMaps, "ConfigMap", "late", referTo(old))
			close(replaced)
			if err := waittest.Receive(t, "the controller has stopped", set); err != nil {
				t.Fatal(err)
			}
			running.Wait()
			for _, d := range append(all, late) {
				if mode == "adopt" {
					d.await(t, referTo(created))
				} else {
					d.await(t)
				}
			}
		})
	}
}

// Replacements come faster than the collector: each reference goes on to the newest object. If the last one keeps no dependents, they go.
func TestChain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	object := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	d := c.owned(t, configMaps, "ConfigMap", "child", referTo(object))
	for range 10 {
		object = c.mustReplace(t, configMaps, object, adopt...)
	}
	d.await(t, referTo(object))
	c.mustReplace(t, configMaps, object)
	waittest.Until(t, "the dependent is deleted", func() bool {
		_, err := d.owners(t.Context())
		return apierrors.IsNotFound(err)
	})
}

// References that never named the old object are collected as before.
func TestOthersAreCollected(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	kept := c.owned(t, configMaps, "ConfigMap", "kept", referTo(old))
	created := c.mustReplace(t, configMaps, old, adopt...)
	kept.await(t, referTo(created))
	wrong := referTo(old)
	wrong.Name = "another"
	lost := c.owned(t, configMaps, "ConfigMap", "lost", wrong)
	waittest.Until(t, "an object that names another owner is deleted", func() bool {
		_, err := lost.owners(t.Context())
		return apierrors.IsNotFound(err)
	})
}

// The parameters of a request are checked, and a server without a garbage collector refuses.
func TestRefusedDependents(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	_, err := c.replace(t, configMaps, old, "adopt", "true")
	refused(t, "adopt alone", err, 400, "adopt=true needs propagationPolicy=Orphan")
	_, err = c.replace(t, configMaps, old, "propagationPolicy", "Foreground")
	refused(t, "in the foreground", err, 400, "a replacement cannot wait")

	without := lifecycle.Selection{"*", "-" + lifecycle.Garbage, "-" + lifecycle.Quotas}
	other := cluster{servertest.Start(t, apiserver.Config{Controllers: without}).Cluster(t)}
	old = other.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	_, err = other.replace(t, configMaps, old, orphan...)
	refused(t, "no garbage collector", err, 400, "the garbage collector of this server is off")
	other.mustReplace(t, configMaps, old)
}

// The user needs the right to update each dependent. The answer names those only that the user may read.
func TestRightsOfDependents(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	all := []string{"get", "update", "create", "delete"}
	role := rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "may-" + c.Namespace, Namespace: c.Namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: all},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: all},
	}}
	servertest.Grant(t, c, role)
	user := c.as(t, role.Name)
	old := c.create(t, deployments, deployment)
	waittest.Until(t, "the user has the rights", func() error {
		_, err := user.replace(t, deployments, old, "dryRun", "All")
		return err
	})
	for _, test := range []struct {
		resource   schema.GroupVersionResource
		kind, want string
	}{
		{secrets, "Secret", "the user lacks it for secrets"},
		{configMaps, "ConfigMap", fmt.Sprintf("the user lacks it for configmaps \"child\" in namespace %q", c.Namespace)},
	} {
		d := c.owned(t, test.resource, test.kind, "child", referTo(old))
		for _, parameters := range [][]string{orphan, adopt} {
			_, err := user.replace(t, deployments, old, parameters...)
			refused(t, test.kind, err, 403, test.want)
		}
		if got, err := d.owners(t.Context()); err != nil || !equal(got, d.created.GetOwnerReferences()) {
			t.Errorf("%s has the owners %v, %v", test.kind, got, err)
		}
		if err := c.CoreV1().RESTClient().Delete().AbsPath(c.path(test.resource, "child")).Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if stored, err := c.get(t.Context(), deployments, "a"); err != nil || stored.GetUID() != old.GetUID() {
		t.Fatalf("%v: stored %v", err, stored)
	}
	// Without dependents that the user may not update, the request is answered.
	created, err := user.replace(t, deployments, old, adopt...)
	if err != nil || created.GetUID() == old.GetUID() {
		t.Errorf("%v, %v", created, err)
	}
}

// protect creates a policy that refuses to remove the owner references of ConfigMaps in the namespace, unless a condition holds. It returns what
// removes it.
func (c cluster) protect(t testing.TB, condition string) (remove func()) {
	t.Helper()
	return c.refuseUnless(t, admissionregistrationv1.Update, admissionregistrationv1.Validation{
		Expression: condition + " || has(object.metadata.ownerReferences) == has(oldObject.metadata.ownerReferences)", Message: "the owners stay",
	})
}

// If a policy protects the owner references of a dependent, the object is not replaced. If the policy comes after the replacement, the
// dependent stays as it is, an Event says why, and the collector goes on when the policy is gone.
func TestProtectedDependents(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, deployments, deployment)
	allow := c.protect(t, "false")
	d := c.owned(t, configMaps, "ConfigMap", "one", referTo(old))
	waittest.Until(t, "the replacement is refused", func() error {
		_, err := c.replace(t, deployments, old, append([]string{"dryRun", "All"}, orphan...)...)
		if err == nil {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	_, err := c.replace(t, deployments, old, orphan...)
	refused(t, "protected", err, 409, "the owner references of configmaps \"one\"")
	if stored, err := c.get(t.Context(), deployments, "a"); err != nil || stored.GetUID() != old.GetUID() {
		t.Fatalf("%v: stored %v", err, stored)
	}
	d.await(t, referTo(old))
	allow()

	// A dry run passes, and the write is refused.
	late := newCluster(t)
	old = late.create(t, deployments, deployment)
	allow = late.protect(t, "(has(request.dryRun) && request.dryRun)")
	n := 0
	waittest.Until(t, "the references are protected", func() error {
		n++
		d := late.owned(t, configMaps, "ConfigMap", fmt.Sprint("probe-", n), referTo(old))
		patch := []byte(`{"metadata":{"ownerReferences":null}}`)
		_, err := late.CoreV1().ConfigMaps(late.Namespace).Patch(t.Context(), d.created.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		if err == nil {
			return fmt.Errorf("they are not")
		}
		return nil
	})
	protected := late.owned(t, configMaps, "ConfigMap", "protected", referTo(old))
	late.mustReplace(t, deployments, old, orphan...)
	waittest.Until(t, "an Event says why the dependent stays", func() error {
		events, err := late.CoreV1().Events(late.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(event corev1.Event) bool {
			return event.Reason == "OwnerReplaced" && event.InvolvedObject.UID == protected.created.GetUID()
		}) {
			return fmt.Errorf("events %v", events.Items)
		}
		return nil
	})
	late.collectedAfter(t)
	if got, err := protected.owners(t.Context()); err != nil || !equal(got, []metav1.OwnerReference{referTo(old)}) {
		t.Errorf("owners %v, %v", got, err)
	}
	allow()
	protected.await(t)
}

// The claims of a StatefulSet that deletes its claims stay with its other dependents, so that no data is lost.
func TestKeptClaims(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const set = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {serviceName: a, selector: {matchLabels: {a: b}},
		persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
	old := c.create(t, statefulSets, set)
	claim := c.create(t, claims, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-a-0}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	claim.SetOwnerReferences([]metav1.OwnerReference{referTo(old)})
	claim, err := c.send(t, c.CoreV1().RESTClient().Put().AbsPath(c.path(claims, "data-a-0")), claim.Object)
	if err != nil {
		t.Fatal(err)
	}
	created := c.mustReplace(t, statefulSets, old, adopt...)
	dependent{c, claims, claim}.await(t, referTo(created))
}
